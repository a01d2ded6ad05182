package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.protocol.ApiKeys;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

/**
 * The request of members of streams groups (KIP-1071), of a topology with one subtopology. An
 * absent field means "unchanged". Kafka 4.0 has no such message, so it is made of its own JSON, by
 * name.
 */
final class StreamsRequests {
    private static final String MESSAGE =
            "org.apache.kafka.common.message.StreamsGroupHeartbeat%sDataJsonConverter";
    private static final short VERSION = 0;
    private static final String[] ROLES = {"active", "standby", "warmup"};

    private final World world;
    private final Answers answers;

    StreamsRequests(World world, Answers answers) {
        this.world = world;
        this.answers = answers;
    }

    void heartbeat(Request r) throws Exception {
        Object data = converter("Request", "read", JsonNode.class).invoke(null, json(r), VERSION);
        CompletableFuture<?> answer = (CompletableFuture<?>) Reflect.call(
                r.broker.service, "streamsGroupHeartbeat",
                r.context(ApiKeys.valueOf("STREAMS_GROUP_HEARTBEAT"), VERSION), data);
        answers.expect(answer, this::answered);
    }

    private static Method converter(String of, String name, Class<?> from) throws Exception {
        Class<?> c;
        try {
            c = Class.forName(MESSAGE.formatted(of));
        } catch (ClassNotFoundException e) {
            throw new Refused("this version has no streams groups");
        }
        return c.getMethod(name, from, short.class);
    }

    /** The message as Kafka's own tools write it: every field is there. */
    private static ObjectNode json(Request r) {
        ObjectNode json = Json.MAKE.objectNode()
                .put("groupId", r.group())
                .put("memberId", r.member())
                .put("memberEpoch", r.number("epoch", 0))
                .put("endpointInformationEpoch", 0)
                .put("rebalanceTimeoutMs", r.number("rebalanceTimeoutMs", -1))
                .put("processId", r.text("process", null))
                .put("shutdownApplication", r.json.path("shutdown").asBoolean(false));
        for (String absent : new String[] {"instanceId", "rackId", "userEndpoint", "clientTags",
            "taskOffsets", "taskEndOffsets"}) {
            json.putNull(absent);
        }
        json.set("topology", topology(r.json));
        for (String role : ROLES) json.set(role + "Tasks", tasks(r.json.get("owned"), role));
        return json;
    }

    private static JsonNode topology(JsonNode command) {
        if (!command.hasNonNull("topology")) return Json.MAKE.nullNode();
        ObjectNode topology = Json.MAKE.objectNode().put("epoch", command.get("topology").asInt());
        ObjectNode only = topology.putArray("subtopologies").addObject()
                .put("subtopologyId", StreamsMemory.SUBTOPOLOGY);
        command.path("sources").forEach(only.putArray("sourceTopics")::add);
        ArrayNode changelogs = only.putArray("stateChangelogTopics");
        command.path("changelogs").forEach(name -> changelogs.addObject()
                .put("name", name.asText())
                .put("partitions", 0)
                .put("replicationFactor", 0)
                .putArray("topicConfigs"));
        for (String none : new String[] {"sourceTopicRegex", "repartitionSinkTopics",
            "repartitionSourceTopics", "copartitionGroups"}) {
            only.putArray(none);
        }
        return topology;
    }

    private static JsonNode tasks(JsonNode owned, String role) {
        if (owned == null || owned.isNull()) return Json.MAKE.nullNode();
        ArrayNode tasks = Json.MAKE.arrayNode();
        if (owned.has(role)) {
            tasks.addObject()
                    .put("subtopologyId", StreamsMemory.SUBTOPOLOGY)
                    .set("partitions", owned.get(role));
        }
        return tasks;
    }

    private void answered(Object result, ObjectNode into) {
        try {
            Object data = Reflect.call(result, "data");
            JsonNode json = (JsonNode) converter("Response", "write", data.getClass())
                    .invoke(null, data, VERSION);
            written(json, into);
            Map<?, ?> created = (Map<?, ?>) Reflect.call(result, "creatableTopics");
            ArrayNode creates = into.putArray("creates");
            created.keySet().stream().map(String::valueOf).sorted().forEach(creates::add);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private void written(JsonNode json, ObjectNode into) {
        into.put("error", json.get("errorCode").asInt())
                .put("member", world.names.shown(json.get("memberId").asText()))
                .put("epoch", json.get("memberEpoch").asInt());
        if (json.hasNonNull("errorMessage")) {
            into.put("exception", json.get("errorMessage").asText());
        }
        TreeSet<Integer> statuses = new TreeSet<>();
        json.path("status").forEach(status -> statuses.add(status.get("statusCode").asInt()));
        statuses.forEach(into.putArray("statuses")::add);
        if (!json.hasNonNull("activeTasks")) {
            into.putNull("assigned");
            return;
        }
        ObjectNode assigned = into.putObject("assigned");
        for (String role : ROLES) {
            for (JsonNode ofSubtopology : json.path(role + "Tasks")) {
                assigned.set(role, ofSubtopology.get("partitions"));
            }
        }
    }
}
