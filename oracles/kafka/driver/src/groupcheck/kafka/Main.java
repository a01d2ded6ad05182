package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;

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
 * One JSON value a line in, one a line out: a command or a list of commands to the coordinator,
 * {"toMember": the same to a member}, {"toWhole": a step of a whole group, "at": its number}, or
 * {"assign": [problem, ...]}. Ends when its input does.
 */
public final class Main {
    private Main() { }

    public static void main(String[] arguments) throws IOException {
        SeededRandom.install();
        Commands commands = new Commands();
        MemberCommands members = new MemberCommands();
        Map<Integer, Whole> groups = new HashMap<>();
        BufferedReader in = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
        OutputStream out = new BufferedOutputStream(
                new FileOutputStream(FileDescriptor.out), 1 << 16);
        // Whatever a library prints must not stand between the answers.
        System.setOut(System.err);
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode answer = answer(commands, members, groups, Json.MAPPER.readTree(line));
            out.write(Json.MAPPER.writeValueAsBytes(answer));
            out.write('\n');
            if (!in.ready()) out.flush();
        }
        out.flush();
    }

    private static JsonNode answer(
            Commands commands,
            MemberCommands members,
            Map<Integer, Whole> groups,
            JsonNode asked) {
        if (asked.isArray()) return commands.runAll(asked);
        if (asked.has("toMember")) {
            JsonNode told = asked.get("toMember");
            return told.isArray() ? members.runAll(told) : members.run(told);
        }
        if (asked.has("toWhole")) {
            return groups.computeIfAbsent(asked.path("at").asInt(), at -> new Whole())
                    .run(asked.get("toWhole"));
        }
        if (!asked.has("assign")) return commands.run(asked);
        ArrayNode assignments = Json.MAKE.arrayNode();
        asked.get("assign").forEach(problem -> assignments.add(Assignors.solve(problem)));
        return assignments;
    }
}
