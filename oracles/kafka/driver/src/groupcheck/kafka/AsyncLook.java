package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.consumer.internals.events.BackgroundEvent;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.protocol.ApiMessage;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/** What a member of a consumer group (KIP-848) shows: its memory, its queues, its requests. */
final class AsyncLook {
    private static final int NONE = -1;      // the local epoch of no assignment

    private final AsyncMember member;
    private final Object membership;
    private final Object heartbeats;

    AsyncLook(AsyncMember member) {
        this.member = member;
        membership = member.managers.consumerMembershipManager.get();
        heartbeats = member.managers.consumerHeartbeatRequestManager.get();
    }

    void into(ObjectNode look) throws Exception {
        look.put("state", Reflect.field(membership, "state").toString())
                .put("epoch", (Integer) Reflect.field(membership, "memberEpoch"))
                .put("reconciling", flag(membership, "reconciliationInProgress"))
                .put("rejoined", flag(membership, "rejoinedWhileReconciliationInProgress"))
                .put("leaving", ((Optional<?>) Reflect.field(
                        membership, "leaveGroupInProgress")).isPresent())
                .put("subscriptionUpdated",
                        ((AtomicBoolean) Reflect.field(membership, "subscriptionUpdated")).get())
                .put("coordinator", ((Optional<?>) Reflect.call(
                        Reflect.field(heartbeats, "coordinatorRequestManager"),
                        "coordinator")).isPresent())
                .put("application", member.application.waits());
        look.set("current", local(Reflect.field(membership, "currentAssignment")));
        look.set("target", local(Reflect.field(membership, "currentTargetAssignment")));
        look.set("assigned", Json.json(member.subscriptions.assignedPartitions()));
        look.set("ready", Json.json(marked("")));
        look.set("paused", Json.json(marked("pendingRevocation")));
        look.set("awaiting", Json.json(marked("pendingOnAssignedCallback")));
        ArrayNode subscribed = look.putArray("subscribed");
        member.subscriptions.subscription().stream().sorted().forEach(subscribed::add);
        sentFields(look.putObject("sent"));
        ArrayNode asked = look.putArray("asked");
        for (BackgroundEvent event : member.forApplication) background(event, asked.addObject());
        look.set("calls", member.calls);
        member.calls = Json.MAKE.arrayNode();
        ArrayNode requests = look.putArray("requests");
        for (ClientRequest request : member.network.sent.values()) {
            if (!request.apiKey().name.equals("Fetch")) request(request, requests.addObject());
        }
    }

    private static boolean flag(Object of, String name) {
        return (Boolean) Reflect.field(of, name);
    }

    private JsonNode local(Object assignment) {
        long epoch = (Long) Reflect.field(assignment, "localEpoch");
        if (epoch == NONE) return Json.MAKE.nullNode();
        ObjectNode json = Json.MAKE.objectNode().put("localEpoch", epoch);
        json.set("partitions", byTopic((Map<?, ?>) Reflect.field(assignment, "partitions")));
        return json;
    }

    private ObjectNode byTopic(Map<?, ?> byId) {
        List<TopicPartition> all = new ArrayList<>();
        byId.forEach((id, numbers) -> ((Collection<?>) numbers).forEach(n ->
                all.add(new TopicPartition(member.topic((Uuid) id), (Integer) n))));
        return Json.json(all);
    }

    /** Partitions with this mark; empty: those without one, which can be fetched. */
    private List<TopicPartition> marked(String mark) throws Exception {
        Object all = Reflect.field(member.subscriptions, "assignment");
        List<TopicPartition> marked = new ArrayList<>();
        for (TopicPartition partition : member.subscriptions.assignedPartitions()) {
            Object state = Reflect.call(all, "stateValue", partition);
            boolean ready = !flag(state, "paused") && !flag(state, "pendingRevocation")
                    && !flag(state, "pendingOnAssignedCallback");
            if (mark.isEmpty() ? ready : flag(state, mark)) marked.add(partition);
        }
        return marked;
    }

    private void sentFields(ObjectNode into) {
        Object sent = Reflect.field(Reflect.field(heartbeats, "heartbeatState"), "sentFields");
        into.put("rebalanceMs", (Integer) Reflect.field(sent, "rebalanceTimeoutMs"));
        Collection<?> names = (Collection<?>) Reflect.field(sent, "subscribedTopicNames");
        if (names == null) into.putNull("topics");
        else names.forEach(into.putArray("topics")::addPOJO);
        Object assignment = Reflect.field(sent, "localAssignment");
        into.put("said", assignment != null && assignment.equals(
                Reflect.field(membership, "currentAssignment")));
    }

    private void background(BackgroundEvent event, ObjectNode into) {
        into.put("type", event.type().toString());
        for (String field : List.of("methodName", "partitions", "addedPartitions", "error")) {
            if (!has(event, field)) continue;
            Object value = Reflect.field(event, field);
            if (value instanceof Collection<?> partitions) {
                List<TopicPartition> all = new ArrayList<>();
                partitions.forEach(p -> all.add((TopicPartition) p));
                into.set("partitions", Json.json(all));
            } else {
                into.put(field, value instanceof Throwable error
                        ? error.getClass().getSimpleName() : String.valueOf(value));
            }
        }
    }

    private static boolean has(Object of, String name) {
        for (Class<?> c = of.getClass(); c != null; c = c.getSuperclass())
            for (java.lang.reflect.Field field : c.getDeclaredFields())
                if (field.getName().equals(name)) return true;
        return false;
    }

    private void request(ClientRequest request, ObjectNode into) throws Exception {
        short version = request.requestBuilder().latestAllowedVersion();
        ApiMessage data = request.requestBuilder().build(version).data();
        into.put("number", request.correlationId()).put("api", request.apiKey().name);
        if (data instanceof ConsumerGroupHeartbeatRequestData beat) {
            heartbeat(beat, into);
        } else if (data instanceof OffsetCommitRequestData commit) {
            into.put("epoch", commit.generationIdOrMemberEpoch());
            List<TopicPartition> all = new ArrayList<>();
            for (var t : commit.topics()) {
                boolean named = t.name() != null && !t.name().isEmpty();
                String topic = named ? t.name() : member.topic(Versions.topicId(t));
                t.partitions().forEach(p ->
                        all.add(new TopicPartition(topic, p.partitionIndex())));
            }
            into.set("partitions", Json.json(all));
        }
    }

    private void heartbeat(ConsumerGroupHeartbeatRequestData beat, ObjectNode into) {
        into.put("epoch", beat.memberEpoch())
                .put("rebalanceTimeoutMs", beat.rebalanceTimeoutMs())
                .put("instance", beat.instanceId())
                .put("regex", beat.subscribedTopicRegex())
                .put("assignor", beat.serverAssignor());
        if (beat.subscribedTopicNames() == null) into.putNull("topics");
        else beat.subscribedTopicNames().forEach(into.putArray("topics")::add);
        if (beat.topicPartitions() == null) {
            into.putNull("owned");
            return;
        }
        List<TopicPartition> owned = new ArrayList<>();
        beat.topicPartitions().forEach(t -> t.partitions().forEach(p ->
                owned.add(new TopicPartition(member.topic(t.topicId()), p))));
        into.set("owned", Json.json(owned));
    }
}
