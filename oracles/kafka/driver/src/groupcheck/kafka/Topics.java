package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RemoveTopicRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The cluster's topics as metadata that is published to the coordinator. A topic's id follows from its name. */
final class Topics {
    private final Map<String, Integer> sizes = new TreeMap<>();
    private final Map<Uuid, String> names = new HashMap<>();
    private MetadataImage image = MetadataImage.EMPTY;

    void clear() {
        sizes.clear();
        names.clear();
        image = MetadataImage.EMPTY;
    }

    Map<String, Integer> sizes() {
        return sizes;
    }

    MetadataImage image() {
        return image;
    }

    Uuid id(String topic) {
        Uuid id = new Uuid(0x7000000000000000L | topic.hashCode() & 0xffffffffL, 1);
        names.put(id, topic);
        return id;
    }

    String name(Uuid id) {
        return names.getOrDefault(id, id.toString());
    }

    /** Creates, expands and deletes topics until they are as wanted ({"t": 3}); partitions are never taken away. Returns the change to publish. */
    MetadataDelta become(JsonNode wanted, long now) {
        MetadataDelta delta = new MetadataDelta.Builder().setImage(image).build();
        for (String topic : new ArrayList<>(sizes.keySet()))
            if (!wanted.has(topic)) {
                delta.replay(new RemoveTopicRecord().setTopicId(id(topic)));
                sizes.remove(topic);
            }
        wanted.properties().forEach(e -> grow(delta, e.getKey(), e.getValue().asInt()));
        image = delta.apply(new MetadataProvenance(image.provenance().lastContainedOffset() + 1, 1, now, true));
        return delta;
    }

    private void grow(MetadataDelta delta, String topic, int size) {
        int before = sizes.getOrDefault(topic, 0);
        if (before == 0) delta.replay(new TopicRecord().setName(topic).setTopicId(id(topic)));
        for (int p = before; p < size; p++)
            delta.replay(new PartitionRecord().setTopicId(id(topic)).setPartitionId(p).setReplicas(List.of(0)).setIsr(List.of(0)).setLeader(0));
        sizes.put(topic, Math.max(before, size));
    }

    /** Partitions by topic id as JSON by topic name; absent as null. */
    JsonNode json(Object byId) {
        if (byId == null) return Json.MAKE.nullNode();
        TreeMap<String, Collection<Integer>> byName = new TreeMap<>();
        ((Map<?, ?>) byId).forEach((id, partitions) -> byName.put(name((Uuid) id), Versions.partitionNumbers(partitions)));
        ObjectNode json = Json.MAKE.objectNode();
        byName.forEach((topic, numbers) -> numbers.forEach(json.putArray(topic)::add));
        return json;
    }
}
