package groupcheck.connect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * A list of rounds (see Leader) or of commands to a worker (see Worker) a line in, the list of
 * their answers a line out. Ends when its input does.
 */
public final class Main {
    static final ObjectMapper MAPPER = new ObjectMapper();
    static final JsonNodeFactory MAKE = JsonNodeFactory.instance;

    private static Worker worker;

    private Main() { }

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        OutputStream out = new BufferedOutputStream(
                new FileOutputStream(FileDescriptor.out), 1 << 16);
        // Whatever a library prints must not stand between the answers.
        System.setOut(System.err);
        Map<Integer, Leader> leaders = new HashMap<>();
        for (String line; (line = in.readLine()) != null; ) {
            ArrayNode answers = MAKE.arrayNode();
            for (JsonNode round : MAPPER.readTree(line)) answers.add(answer(leaders, round));
            out.write(MAPPER.writeValueAsBytes(answers));
            out.write('\n');
            if (!in.ready()) out.flush();
        }
        out.flush();
    }

    private static JsonNode answer(Map<Integer, Leader> leaders, JsonNode round) {
        try {
            if (round.has("worker")) {
                if (round.get("worker").asText().equals("start")) worker = new Worker(round);
                return worker.run(round);
            }
            int at = round.path("process").asInt();
            if (round.path("starts").asBoolean()) {
                leaders.put(at, new Leader(round.path("maxDelay").asInt()));
            }
            return leaders.get(at).assign(round);
        } catch (Throwable t) {
            Throwable cause = t instanceof java.lang.reflect.InvocationTargetException
                    ? t.getCause() : t;
            return MAKE.objectNode().put("thrown", cause.toString());
        }
    }
}
