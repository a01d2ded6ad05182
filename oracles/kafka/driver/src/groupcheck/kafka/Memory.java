package groupcheck.kafka;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.coordinator.group.Group;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.classic.ClassicGroupMember;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;

import java.util.Collections;
import java.util.Comparator;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** What a broker remembers of a group, and every timer that is armed: {"key": due at}. */
final class Memory {
    private final World world;
    private final Answers answers;

    Memory(World world, Answers answers) {
        this.world = world;
        this.answers = answers;
    }

    @SuppressWarnings("unchecked")
    static Set<String> pendingJoin(ClassicGroup group) {
        return (Set<String>) Reflect.field(group, "pendingJoinMembers");
    }

    ObjectNode of(Broker broker, String groupId) {
        ObjectNode memory = Json.MAKE.objectNode().put("coordinator", broker.state());
        Group group = broker.groups().get(groupId);
        if (group instanceof ClassicGroup classic) {
            classic(memory.put("kind", "classic"), classic);
        } else if (group instanceof ConsumerGroup consumer) {
            consumer(memory.put("kind", "consumer"), consumer);
        } else {
            memory.put("kind", group == null ? "none" : group.type().toString());
        }
        ObjectNode timers = memory.putObject("timers");
        broker.armed().forEach((key, due) -> timers.put(key, due.at()));
        return memory;
    }

    /** The futures of a classic group's members that wait in JoinGroup or SyncGroup. */
    Set<Object> held(Broker broker, String groupId) {
        Set<Object> held = Collections.newSetFromMap(new IdentityHashMap<>());
        if (broker.groups().get(groupId) instanceof ClassicGroup group)
            for (ClassicGroupMember m : group.allMembers()) {
                held.add(Reflect.field(m, "awaitingJoinFuture"));
                held.add(Reflect.field(m, "awaitingSyncFuture"));
            }
        return held;
    }

    private void classic(ObjectNode memory, ClassicGroup group) {
        memory.put("state", group.currentState().toString())
                .put("previous", group.previousState().toString())
                .put("generation", group.generationId())
                .put("leader", world.names.shown(group.leaderOrNull()))
                .put("type", group.protocolType().orElse(null))
                .put("protocol", group.protocolName().orElse(null))
                .put("newMemberAdded", group.newMemberAdded())
                .put("awaitingJoin", group.numAwaitingJoinResponse());
        memory.set("pendingJoin", world.names.sorted(pendingJoin(group)));
        memory.set("pendingSync", world.names.sorted(group.allPendingSyncMembers()));
        ObjectNode instances = memory.putObject("instances");
        Map<?, ?> staticMembers = (Map<?, ?>) Reflect.field(group, "staticMembers");
        new TreeMap<>(staticMembers).forEach((i, m) ->
                instances.put((String) i, world.names.shown((String) m)));
        ArrayNode members = memory.putArray("members");
        group.allMembers().stream()
                .sorted(Comparator.comparing(m -> world.names.shown(m.memberId())))
                .forEach(m -> member(members.addObject(), m));
    }

    private void member(ObjectNode into, ClassicGroupMember m) {
        into.put("member", world.names.shown(m.memberId()))
                .put("instance", m.groupInstanceId().orElse(null))
                .put("awaitingJoin", m.isAwaitingJoin())
                .put("awaitingSync", m.isAwaitingSync())
                .put("joinRequest", answers.number(Reflect.field(m, "awaitingJoinFuture")))
                .put("syncRequest", answers.number(Reflect.field(m, "awaitingSyncFuture")))
                .put("new", m.isNew())
                .put("sessionTimeoutMs", m.sessionTimeoutMs())
                .put("rebalanceTimeoutMs", m.rebalanceTimeoutMs());
        ArrayNode protocols = into.putArray("protocols");
        m.supportedProtocols().forEach(p -> Json.subscription(
                protocols.addObject().put("name", p.name()), p.metadata()));
        into.set("assigned", Json.assignment(m.assignment()));
    }

    private void consumer(ObjectNode memory, ConsumerGroup group) {
        memory.put("state", group.stateAsString())
                .put("epoch", group.groupEpoch())
                .put("assignmentEpoch", group.assignmentEpoch());
        ArrayNode members = memory.putArray("members");
        group.members().values().stream()
                .sorted(Comparator.comparing(m -> world.names.shown(m.memberId())))
                .forEach(m -> member(members.addObject(), m));
        ObjectNode target = memory.putObject("target");
        ObjectNode epochs = memory.putObject("partitionEpochs");
        group.targetAssignment().forEach((m, a) ->
                target.set(world.names.shown(m), world.topics.json(a.partitions())));
        world.topics.sizes().forEach((topic, size) -> {
            ArrayNode ofTopic = epochs.putArray(topic);
            for (int p = 0; p < size; p++) {
                ofTopic.add(group.currentPartitionEpoch(world.topics.id(topic), p));
            }
        });
    }

    private void member(ObjectNode into, ConsumerGroupMember m) {
        into.put("member", world.names.shown(m.memberId()))
                .put("instance", m.instanceId())
                .put("epoch", m.memberEpoch())
                .put("previousEpoch", m.previousMemberEpoch())
                .put("state", m.state().toString())
                .put("classic", m.useClassicProtocol())
                .put("rebalanceTimeoutMs", m.rebalanceTimeoutMs());
        m.subscribedTopicNames().stream().sorted().forEach(into.putArray("topics")::add);
        try {
            into.set("assigned", world.topics.json(Reflect.call(m, "assignedPartitions")));
            into.set("pendingRevocation",
                    world.topics.json(Reflect.call(m, "partitionsPendingRevocation")));
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
