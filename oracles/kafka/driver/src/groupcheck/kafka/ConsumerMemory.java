package groupcheck.kafka;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.coordinator.group.modern.consumer.ResolvedRegularExpression;

import java.util.Comparator;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a broker remembers of a consumer group (KIP-848). What a version does not have is left out:
 * the hash of topics before 4.1, the time of the assignment and the epochs of what is assigned
 * before 4.3.
 */
final class ConsumerMemory {
    private final World world;

    ConsumerMemory(World world) {
        this.world = world;
    }

    void write(ObjectNode memory, ConsumerGroup group) {
        memory.put("state", group.stateAsString())
                .put("epoch", group.groupEpoch())
                .put("assignmentEpoch", group.assignmentEpoch())
                .put("subscriptionType", group.subscriptionType().toString());
        topics(memory, group);
        ArrayNode members = memory.putArray("members");
        group.members().values().stream()
                .sorted(Comparator.comparing(m -> world.names.shown(m.memberId())))
                .forEach(m -> member(members.addObject(), m));
        ObjectNode target = memory.putObject("target");
        ObjectNode epochs = memory.putObject("partitionEpochs");
        group.targetAssignment().forEach((m, a) ->
                target.set(world.names.shown(m), world.topics.json(a.partitions())));
        world.topics.everSizes().forEach((topic, size) -> {
            ArrayNode ofTopic = epochs.putArray(topic);
            for (int p = 0; p < size; p++) {
                ofTopic.add(group.currentPartitionEpoch(world.topics.id(topic), p));
            }
        });
    }

    /** What the group knows of topics, and when it looks again. */
    private void topics(ObjectNode memory, ConsumerGroup group) {
        if (Reflect.has(group, "metadataHash")) {
            memory.put("metadataHash", (Long) called(group, "metadataHash"));
        }
        if (Reflect.has(group, "assignmentTimestamp")) {
            memory.put("assignmentTimestampMs", (Long) called(group, "assignmentTimestamp"));
        }
        Object deadline = called(group, "metadataRefreshDeadline");
        memory.put("metadataDeadlineMs", (Long) Reflect.field(deadline, "deadlineMs"))
                .put("metadataDeadlineEpoch", (Integer) Reflect.field(deadline, "epoch"));
        ArrayNode regexes = memory.putArray("regexes");
        new TreeMap<>(group.resolvedRegularExpressions()).forEach((regex, resolved) ->
                regex(regexes.addObject().put("regex", regex), resolved));
    }

    private static void regex(ObjectNode into, ResolvedRegularExpression resolved) {
        into.put("version", (Long) Reflect.field(resolved, "version"))
                .put("timestampMs", (Long) Reflect.field(resolved, "timestamp"));
        ArrayNode topics = into.putArray("topics");
        ((Set<?>) Reflect.field(resolved, "topics")).stream()
                .map(String::valueOf).sorted().forEach(topics::add);
    }

    private void member(ObjectNode into, ConsumerGroupMember m) {
        into.put("member", world.names.shown(m.memberId()))
                .put("instance", m.instanceId())
                .put("rack", m.rackId())
                .put("epoch", m.memberEpoch())
                .put("previousEpoch", m.previousMemberEpoch())
                .put("state", m.state().toString())
                .put("classic", m.useClassicProtocol())
                .put("rebalanceTimeoutMs", m.rebalanceTimeoutMs())
                .put("regex", m.subscribedTopicRegex())
                .put("assignor", m.serverAssignorName().orElse(null));
        new TreeSet<>(m.subscribedTopicNames()).forEach(into.putArray("topics")::add);
        Object assigned = called(m, "assignedPartitions");
        Object revoking = called(m, "partitionsPendingRevocation");
        into.set("assigned", world.topics.json(assigned));
        into.set("pendingRevocation", world.topics.json(revoking));
        ObjectNode epochs = into.putObject("assignmentEpochs");
        epochs(epochs, (Map<?, ?>) assigned);
        epochs(epochs, (Map<?, ?>) revoking);
    }

    /** The epoch at which the member was given each partition. */
    private void epochs(ObjectNode into, Map<?, ?> partitions) {
        partitions.forEach((id, ofTopic) -> {
            if (ofTopic instanceof Map<?, ?> epochs) {
                ObjectNode shown = into.withObject("/" + world.topics.name((Uuid) id));
                new TreeMap<>(epochs).forEach((p, epoch) ->
                        shown.put(String.valueOf(p), (Integer) epoch));
            }
        });
    }

    private static Object called(Object on, String name) {
        try {
            return Reflect.call(on, name);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
