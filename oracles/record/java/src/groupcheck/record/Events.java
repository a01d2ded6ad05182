package groupcheck.record;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * What a member tells: one JSON object a line on stdout, with the time and the kind of event;
 * {@code groupcheck.oracles.record.member} writes the same.
 */
final class Events {
    private static final int LONGEST_TEXT = 200;

    private Events() {
    }

    /**
     * Fields in order; values are strings, numbers, collections of strings, arrays of long, or maps
     * of these.
     */
    static Map<String, Object> fields(Object... namesAndValues) {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            fields.put((String) namesAndValues[i], namesAndValues[i + 1]);
        }
        return fields;
    }

    static void tell(String kind, Map<String, Object> fields) {
        Map<String, Object> event = fields("t", System.currentTimeMillis(), "ev", kind);
        event.putAll(fields);
        String line = json(event);
        synchronized (System.out) {
            System.out.println(line);
            System.out.flush();
        }
    }

    private static String json(Object value) {
        StringBuilder out = new StringBuilder();
        if (value instanceof Map<?, ?> map) {
            map.forEach((name, v) -> separated(out, "{")
                    .append(quoted(name.toString())).append(": ").append(json(v)));
            return out.isEmpty() ? "{}" : out.append('}').toString();
        }
        if (value instanceof long[] numbers) {
            for (long number : numbers) {
                separated(out, "[").append(number);
            }
            return out.isEmpty() ? "[]" : out.append(']').toString();
        }
        if (value instanceof Collection<?> collection) {
            new TreeSet<>(collection).forEach(v -> separated(out, "[").append(json(v)));
            return out.isEmpty() ? "[]" : out.append(']').toString();
        }
        return value instanceof Number ? value.toString() : quoted(String.valueOf(value));
    }

    private static StringBuilder separated(StringBuilder out, String opening) {
        return out.append(out.isEmpty() ? opening : ", ");
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        text.chars().limit(LONGEST_TEXT).forEach(c -> {
            if (c < ' ' || c > '~' || c == '"' || c == '\\') {
                out.append(String.format("\\u%04x", c));
            } else {
                out.append((char) c);
            }
        });
        return out.append('"').toString();
    }
}
