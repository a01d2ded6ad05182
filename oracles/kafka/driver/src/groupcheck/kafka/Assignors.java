package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.TopicPartition;

import java.util.Collection;
import java.util.Map;

/** An assignor's problem: assignor, topics {"t": 3}, members {"A": {topics, owned, generation, told, instance, rack}}, racks {"t": [["r1"], ["r2"]]}. */
final class Assignors {
    private Assignors() { }

    /** {"assignment": {"A": {"t": [0]}}}, or {"failed": why}. */
    static ObjectNode solve(JsonNode problem) {
        ObjectNode answer = Json.MAKE.objectNode();
        String assignor = problem.path("assignor").asText();
        try {
            answer.set("assignment", json(switch (assignor) {
                case "range", "roundrobin", "sticky", "cooperative-sticky" -> ClientAssignors.assign(assignor, problem);
                case "uniform", "server-range" -> ServerAssignors.assign(assignor, problem);
                default -> throw new Refused("there is no assignor " + assignor);
            }));
        } catch (Exception e) {
            answer.put("failed", e.toString());
        }
        return answer;
    }

    private static ObjectNode json(Map<String, ? extends Collection<TopicPartition>> assignment) {
        ObjectNode json = Json.MAKE.objectNode();
        assignment.forEach((member, partitions) -> json.set(member, Json.json(partitions)));
        return json;
    }
}
