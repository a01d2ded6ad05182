package groupcheck.judge;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;

/** What a program under test is told and tells: the environment in, events out, {@code stop}. */
final class Contract {
    static final String ASSIGNOR = text("GROUPCHECK_ASSIGNOR", "range");
    static final int SESSION = number("GROUPCHECK_SESSION_MS", 3000);
    static final int HEARTBEAT = number("GROUPCHECK_HEARTBEAT_MS", 300);
    static final int COMMIT = number("GROUPCHECK_COMMIT_MS", 300);
    static final int REBALANCE = number("GROUPCHECK_REBALANCE_MS", 5000);
    static final AtomicBoolean STOPPED = new AtomicBoolean();

    private Contract() {
    }

    static String text(String name, String otherwise) {
        String value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }

    private static int number(String name, int otherwise) {
        return Integer.parseInt(text(name, String.valueOf(otherwise)));
    }

    /** Sets {@code STOPPED} when the line {@code stop}, or the end, has come on stdin. */
    static void listen() {
        Thread reader = new Thread(() -> {
            try (BufferedReader lines = new BufferedReader(
                    new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                String line = lines.readLine();
                while (line != null && !line.equals("stop")) {
                    line = lines.readLine();
                }
            } catch (IOException gone) {
                // As the end.
            }
            STOPPED.set(true);
        });
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Prints an event. Fields are names and values in turn; values are texts, numbers, collections
     * of texts, or maps of numbers.
     */
    static void tell(String event, Object... fields) {
        StringBuilder line = new StringBuilder("{\"schema\": \"groupcheck.event/1\", \"time\": ")
                .append(System.currentTimeMillis()).append(", \"event\": ").append(quoted(event));
        for (int i = 0; i < fields.length; i += 2) {
            line.append(", ").append(quoted((String) fields[i])).append(": ")
                    .append(json(fields[i + 1]));
        }
        synchronized (System.out) {
            System.out.println(line.append('}'));
            System.out.flush();
        }
    }

    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            StringBuilder out = new StringBuilder();
            new TreeMap<>(map).forEach((name, number) -> out.append(out.isEmpty() ? "" : ", ")
                    .append(quoted(name.toString())).append(": ").append(number));
            return "{" + out + "}";
        }
        if (value instanceof Collection<?> texts) {
            return "[" + String.join(", ", texts.stream().map(t -> quoted("" + t)).toList()) + "]";
        }
        return value instanceof Number ? value.toString() : quoted(String.valueOf(value));
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        text.chars().limit(300).forEach(c -> {
            if (c < ' ' || c > '~' || c == '"' || c == '\\') {
                out.append(String.format("\\u%04x", c));
            } else {
                out.append((char) c);
            }
        });
        return out.append('"').toString();
    }
}
