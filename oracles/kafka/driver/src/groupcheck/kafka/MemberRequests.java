package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BinaryNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.requests.AbstractResponse;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Requests and answers as JSON: Kafka's own names of all fields. Subscriptions and assignments are
 * not bytes but {"topics", "owned", "ownedGeneration"} and {"t": [0, 1]}.
 */
final class MemberRequests {
    private static final Map<Class<?>, Method[]> CONVERTERS = new ConcurrentHashMap<>();

    private MemberRequests() { }

    static JsonNode shown(ClientRequest request) throws Exception {
        short version = request.requestBuilder().latestAllowedVersion();
        JsonNode data = json(request.requestBuilder().build(version).data(), version);
        for (JsonNode protocol : data.path("protocols"))
            ((ObjectNode) protocol).set("metadata",
                Json.subscription(Json.MAKE.objectNode(), bytes(protocol.get("metadata"))));
        for (JsonNode share : data.path("assignments"))
            ((ObjectNode) share).set("assignment", Json.assignment(bytes(share.get("assignment"))));
        return data;
    }

    private static byte[] bytes(JsonNode node) throws IOException {
        return node.binaryValue();
    }

    /** An answer with the fields given, and Kafka's defaults for all others. */
    static AbstractResponse answer(ClientRequest asked, JsonNode given) throws Exception {
        short version = asked.requestBuilder().latestAllowedVersion();
        Class<?> type = Class.forName("org.apache.kafka.common.message." + asked.apiKey().name + "ResponseData");
        ObjectNode all = (ObjectNode) json((ApiMessage) type.getConstructor().newInstance(), version);
        for (String field : (Iterable<String>) given::fieldNames)
            if (!all.has(field)) throw new Refused("an answer to " + asked.apiKey().name + " has no field " + field);
        all.setAll((ObjectNode) given.deepCopy());
        for (JsonNode member : all.path("members")) {
            if (member.path("metadata").isObject())
                ((ObjectNode) member).set("metadata", BinaryNode.valueOf(subscription(member.get("metadata"))));
            if (!member.has("groupInstanceId")) ((ObjectNode) member).putNull("groupInstanceId");
        }
        if (all.path("assignment").isObject())
            all.set("assignment", BinaryNode.valueOf(Json.bytes(
                ConsumerProtocol.serializeAssignment(new Assignment(Json.partitions(all.get("assignment")))))));
        ApiMessage data;
        try {
            data = (ApiMessage) converters(type)[1].invoke(null, all, version);
        } catch (java.lang.reflect.InvocationTargetException e) {
            throw new Refused("no answer to " + asked.apiKey().name + ": " + e.getCause().getMessage());
        }
        return MemberVersions.parsed(asked.apiKey(), data, version);
    }

    private static byte[] subscription(JsonNode json) {
        return Json.bytes(ConsumerProtocol.serializeSubscription(new Subscription(Json.texts(json.get("topics")), null,
            Json.partitions(json.get("owned")), json.path("ownedGeneration").asInt(-1), Optional.empty())));
    }

    private static JsonNode json(ApiMessage data, short version) throws Exception {
        return (JsonNode) converters(data.getClass())[0].invoke(null, data, version);
    }

    /** How a message is written and read. */
    private static Method[] converters(Class<?> type) {
        return CONVERTERS.computeIfAbsent(type, t -> {
            try {
                Class<?> converter = Class.forName(t.getName() + "JsonConverter");
                return new Method[] {
                    converter.getMethod("write", t, short.class), converter.getMethod("read", JsonNode.class, short.class)};
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        });
    }
}
