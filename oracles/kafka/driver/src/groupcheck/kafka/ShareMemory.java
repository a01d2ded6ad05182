package groupcheck.kafka;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.modern.share.ShareGroup;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupMember;

import java.util.Comparator;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** What a broker remembers of a share group (KIP-932). */
final class ShareMemory {
    private final World world;

    ShareMemory(World world) {
        this.world = world;
    }

    void write(ObjectNode memory, Broker broker, ShareGroup group) {
        memory.put("state", group.stateAsString())
                .put("epoch", group.groupEpoch())
                .put("assignmentEpoch", group.assignmentEpoch());
        if (Reflect.has(group, "assignmentTimestamp")) {
            try {
                memory.put("assignmentTimestampMs",
                        (Long) Reflect.call(group, "assignmentTimestamp"));
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }
        ArrayNode members = memory.putArray("members");
        group.members().values().stream()
                .sorted(Comparator.comparing(m -> world.names.shown(m.memberId())))
                .forEach(m -> member(members.addObject(), m));
        ObjectNode target = memory.putObject("target");
        group.targetAssignment().forEach((m, a) ->
                target.set(world.names.shown(m), world.topics.json(a.partitions())));
        Object all = Reflect.field(broker.manager(), "shareGroupStatePartitionMetadata");
        Object info = ((Map<?, ?>) all).get(group.groupId());
        partitions(memory.putObject("initializing"), info, "initializingTopics");
        partitions(memory.putObject("initialized"), info, "initializedTopics");
        memory.set("asked", Json.json(broker.persister.asked(world.topics)));
    }

    private void partitions(ObjectNode into, Object info, String which) {
        if (info == null) return;
        ((Map<?, ?>) Reflect.field(info, which)).forEach((id, value) -> {
            ArrayNode numbers = into.putArray(world.topics.name((Uuid) id));
            Set<?> partitions = (Set<?>) Reflect.field(value, "partitions");
            partitions.stream().map(p -> (Integer) p).sorted().forEach(numbers::add);
        });
    }

    private void member(ObjectNode into, ShareGroupMember m) {
        into.put("member", world.names.shown(m.memberId()))
                .put("epoch", m.memberEpoch())
                .put("previousEpoch", m.previousMemberEpoch());
        new TreeSet<>(m.subscribedTopicNames()).forEach(into.putArray("topics")::add);
        into.set("assigned", world.topics.json(m.assignedPartitions()));
    }
}
