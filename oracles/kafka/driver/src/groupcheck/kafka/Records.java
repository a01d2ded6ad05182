package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.generated.GroupMetadataValue;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The log, decoded. A group's metadata are spelt out; every other record is Kafka's own JSON of its
 * key and value, with names for ids.
 */
final class Records {
    private final World world;
    private final Map<OffsetsLog.Entry, Optional<ObjectNode>> groups = new IdentityHashMap<>();

    Records(World world) {
        this.world = world;
    }

    /** The records from an offset on; the end of a transaction is a record of kind "marker". */
    ArrayNode since(long offset) throws Exception {
        ArrayNode records = Json.MAKE.arrayNode();
        for (OffsetsLog.Batch batch : world.log.batches()) {
            if (batch.marker() != null && batch.base() >= offset)
                records.addObject()
                        .put("kind", "marker")
                        .put("offset", batch.base())
                        .put("producer", batch.producer())
                        .put("commit", batch.marker().id);
            long at = batch.base();
            for (OffsetsLog.Entry entry : batch.entries()) {
                if (at >= offset) {
                    ObjectNode shown = records.addObject().put("offset", at);
                    record(shown, batch.producer(), entry.decoded());
                }
                at++;
            }
        }
        return records;
    }

    /**
     * The group's record that a fail-over would load if it kept what lies below an offset; null if
     * there is none.
     */
    ObjectNode lastOfGroup(long below) {
        List<OffsetsLog.Batch> batches = world.log.batches();
        for (int k = batches.size() - 1; k >= 0; k--) {
            if (batches.get(k).end() > below) continue;
            for (OffsetsLog.Entry entry : batches.get(k).entries()) {
                ObjectNode found = groups.computeIfAbsent(entry, this::groupIn).orElse(null);
                if (found != null) return found;
            }
        }
        return null;
    }

    private Optional<ObjectNode> groupIn(OffsetsLog.Entry entry) {
        CoordinatorRecord record = entry.decoded();
        if (record.value() == null
                || !(record.value().message() instanceof GroupMetadataValue value)) {
            return Optional.empty();
        }
        ObjectNode shown = Json.MAKE.objectNode();
        group(shown, value);
        return Optional.of(shown);
    }

    /** Forgets what was decoded for `lastOfGroup`. */
    void clear() {
        groups.clear();
    }

    private void record(ObjectNode into, long producer, CoordinatorRecord record) throws Exception {
        ApiMessage key = Versions.recordKey(record.key());
        into.put("kind", key.getClass().getSimpleName().replaceFirst("Key$", ""));
        if (producer >= 0) into.put("producer", producer);
        into.set("key", world.names.within(json(key, key.highestSupportedVersion())));
        if (record.value() == null) {
            into.putNull("value");
        } else if (record.value().message() instanceof GroupMetadataValue group) {
            group(into.putObject("value"), group);
        } else {
            JsonNode value = json(record.value().message(), record.value().version());
            into.set("value", world.names.within(value));
        }
    }

    private void group(ObjectNode into, GroupMetadataValue value) {
        into.put("type", value.protocolType())
                .put("generation", value.generation())
                .put("protocol", value.protocol())
                .put("leader", world.names.shown(value.leader()))
                .put("timestamp", value.currentStateTimestamp());
        ArrayNode members = into.putArray("members");
        for (GroupMetadataValue.MemberMetadata m : value.members()) {
            ObjectNode member = members.addObject()
                    .put("member", world.names.shown(m.memberId()))
                    .put("instance", m.groupInstanceId())
                    .put("sessionTimeoutMs", m.sessionTimeout())
                    .put("rebalanceTimeoutMs", m.rebalanceTimeout());
            Json.subscription(member, m.subscription())
                    .set("assigned", Json.assignment(m.assignment()));
        }
    }

    private static JsonNode json(ApiMessage message, short version) throws Exception {
        Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
        return (JsonNode) converter.getMethod("write", message.getClass(), short.class)
                .invoke(null, message, version);
    }
}
