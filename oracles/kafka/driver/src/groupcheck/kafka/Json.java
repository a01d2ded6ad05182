package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.TreeMap;
import java.util.TreeSet;

/** Between Kafka's values and JSON. Partitions are {"topic": [0, 1]}, sorted. */
final class Json {
    static final ObjectMapper MAPPER = new ObjectMapper();
    static final JsonNodeFactory MAKE = JsonNodeFactory.instance;

    private Json() { }

    static String text(JsonNode of, String field, String otherwise) {
        JsonNode value = of.get(field);
        return value == null || value.isNull() ? otherwise : value.asText();
    }

    /** A list of texts, or null where it is absent. */
    static List<String> texts(JsonNode list) {
        if (list == null || list.isNull()) return null;
        List<String> texts = new ArrayList<>();
        list.forEach(x -> texts.add(x.asText()));
        return texts;
    }

    static List<Integer> integers(JsonNode list) {
        List<Integer> numbers = new ArrayList<>();
        list.forEach(x -> numbers.add(x.asInt()));
        return numbers;
    }

    static List<TopicPartition> partitions(JsonNode byTopic) {
        List<TopicPartition> partitions = new ArrayList<>();
        if (byTopic != null && byTopic.isObject())
            byTopic.properties().forEach(e -> e.getValue().forEach(p ->
                    partitions.add(new TopicPartition(e.getKey(), p.asInt()))));
        return partitions;
    }

    static ObjectNode json(Collection<TopicPartition> partitions) {
        TreeMap<String, TreeSet<Integer>> byTopic = new TreeMap<>();
        for (TopicPartition p : partitions) {
            byTopic.computeIfAbsent(p.topic(), t -> new TreeSet<>()).add(p.partition());
        }
        ObjectNode json = MAKE.objectNode();
        byTopic.forEach((topic, numbers) -> numbers.forEach(json.putArray(topic)::add));
        return json;
    }

    static byte[] bytes(ByteBuffer buffer) {
        if (buffer == null) return null;
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    /**
     * An assignment as a member reads it: null without bytes, "raw" text where the bytes do not
     * follow the consumer protocol.
     */
    static JsonNode assignment(byte[] bytes) {
        if (bytes == null || bytes.length < 2) return MAKE.nullNode();
        try {
            return json(
                    ConsumerProtocol.deserializeAssignment(ByteBuffer.wrap(bytes)).partitions());
        } catch (RuntimeException e) {
            return MAKE.textNode(new String(bytes, StandardCharsets.UTF_8));
        }
    }

    /** Puts what a subscription says: topics, owned, ownedGeneration, rack; or "raw". */
    static ObjectNode subscription(ObjectNode into, byte[] bytes) {
        try {
            Subscription s = ConsumerProtocol.deserializeSubscription(ByteBuffer.wrap(bytes));
            s.topics().forEach(into.putArray("topics")::add);
            into.set("owned", json(s.ownedPartitions()));
            into.put("ownedGeneration", s.generationId().orElse(-1));
            if (s.rackId().isPresent()) into.put("rack", s.rackId().get());
        } catch (RuntimeException e) {
            into.put("raw", new String(bytes, StandardCharsets.UTF_8));
        }
        return into;
    }
}
