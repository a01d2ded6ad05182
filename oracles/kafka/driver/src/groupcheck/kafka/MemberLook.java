package groupcheck.kafka;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.internals.RequestFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Timer;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/** What a member remembers, wants and waits for. */
final class MemberLook {
    private final Member member;

    MemberLook(Member member) {
        this.member = member;
    }

    void into(ObjectNode look) throws Exception {
        Object coordinator = member.coordinator;
        Object generation = Reflect.field(coordinator, "generation");
        look.put("now", member.clock.now)
                .put("state", Reflect.field(coordinator, "state").toString())
                .put("generation", (Integer) Reflect.field(generation, "generationId"))
                .put("member", (String) Reflect.field(generation, "memberId"))
                .put("protocol", (String) Reflect.field(generation, "protocolName"))
                .put("rejoin", (Boolean) Reflect.field(coordinator, "rejoinNeeded"))
                .put("reason", (String) Reflect.field(coordinator, "rejoinReason"))
                .put("prepare", (Boolean) Reflect.field(coordinator, "needsJoinPrepare"))
                .put("joining", Reflect.field(coordinator, "joinFuture") != null)
                .put("committing",
                        committing(Reflect.field(coordinator, "autoCommitOffsetRequestFuture")))
                .put("leader", (Boolean) Reflect.field(coordinator, "isLeader"))
                .put("coordinator", Reflect.field(coordinator, "coordinator") != null);
        partitions(look);
        heart(look);
        requests(look);
        ended(look);
        look.set("calls", member.calls);
        member.calls = Json.MAKE.arrayNode();
    }

    /**
     * The commit of onJoinPrepare: none, sent, done, failed, or retriable, which means that it will
     * be sent again.
     */
    private static String committing(Object future) {
        if (future == null) return "none";
        RequestFuture<?> commit = (RequestFuture<?>) future;
        if (!commit.isDone()) return "sent";
        return commit.succeeded() ? "done" : commit.isRetriable() ? "retriable" : "failed";
    }

    private void partitions(ObjectNode look) {
        look.set("owned", Json.json(member.subscriptions.assignedPartitions()));
        look.set("paused", Json.json(member.subscriptions.pausedPartitions()));
        Map<?, ?> states = (Map<?, ?>) Reflect.field(
                Reflect.field(member.subscriptions, "assignment"), "map");
        List<TopicPartition> pending = new ArrayList<>();
        Map<TopicPartition, Long> positions = new TreeMap<>((a, b) ->
                a.topic().equals(b.topic())
                        ? a.partition() - b.partition() : a.topic().compareTo(b.topic()));
        states.forEach((partition, state) -> {
            TopicPartition p = (TopicPartition) partition;
            if ((Boolean) Reflect.field(state, "pendingRevocation")) pending.add(p);
            Object position = Reflect.field(state, "position");
            if (position != null) positions.put(p, (Long) Reflect.field(position, "offset"));
        });
        look.set("pendingRevocation", Json.json(pending));
        ObjectNode byTopic = look.putObject("positions");
        positions.forEach((p, offset) -> byTopic.withObjectProperty(p.topic())
                .put(Integer.toString(p.partition()), offset));
    }

    /** The heartbeat thread, and how long every timer still runs; one that is over has 0. */
    private void heart(ObjectNode look) throws Exception {
        Object thread = MemberVersions.thread(member.coordinator);
        String heart = thread == null ? "none"
                : MemberVersions.failure(thread).get() != null ? "failed"
                : MemberVersions.enabled(thread) ? "on" : "off";
        Object heartbeat = Reflect.field(member.coordinator, "heartbeat");
        look.put("heart", heart)
                .put("beating", (Boolean) Reflect.field(heartbeat, "heartbeatInFlight"));
        ObjectNode timers = look.putObject("timers");
        if (heart.equals("on"))
            for (String name : List.of("session", "heartbeat", "poll")) {
                put(timers, name, Reflect.field(heartbeat, name + "Timer"));
            }
        put(timers, "autoCommit", Reflect.field(member.coordinator, "nextAutoCommitTimer"));
        put(timers, "joinPrepare", Reflect.field(member.coordinator, "joinPrepareTimer"));
    }

    private void put(ObjectNode timers, String name, Object timer) {
        if (timer != null) {
            long deadline = (Long) Reflect.field((Timer) timer, "deadlineMs");
            timers.put(name, Math.max(0, deadline - member.clock.now));
        }
    }

    private void requests(ObjectNode look) throws Exception {
        ArrayNode sent = look.putArray("sent");
        for (ClientRequest request : member.network.sent.values())
            sent.addObject().put("n", request.correlationId()).put("api", request.apiKey().name)
                    .put("v", request.requestBuilder().latestAllowedVersion())
                    .put("to", request.destination().equals(MemberNetwork.COORDINATOR)
                            ? "coordinator" : "any")
                    .put("timeout", request.createdTimeMs() + request.requestTimeoutMs()
                            - member.clock.now)
                    .set("data", MemberRequests.shown(request));
        ArrayNode unsent = look.putArray("unsent");
        Map<?, ?> waiting = (Map<?, ?>) Reflect.field(
                Reflect.field(member.client, "unsent"), "unsent");
        for (Object queue : waiting.values())
            for (Object request : (ConcurrentLinkedQueue<?>) queue) {
                unsent.add(((ClientRequest) request).apiKey().name);
            }
    }

    /** Commits that have ended and whose callbacks have yet to run. */
    private void ended(ObjectNode look) throws Exception {
        ArrayNode ended = look.putArray("ended");
        for (Object commit :
                (Iterable<?>) Reflect.field(member.coordinator, "completedOffsetCommits")) {
            Object error = Reflect.field(commit, "exception");
            Object callback = Reflect.field(commit, "callback");
            ended.addObject()
                    .put("asked", callback.getClass().getName().startsWith("groupcheck."))
                    .put("thrown", error == null ? "" : error.getClass().getSimpleName());
        }
    }

    static ObjectNode offsets(Map<TopicPartition, OffsetAndMetadata> offsets) {
        Map<String, Map<Integer, Long>> byTopic = new TreeMap<>();
        offsets.forEach((p, o) -> byTopic.computeIfAbsent(p.topic(), t -> new TreeMap<>())
                .put(p.partition(), o.offset()));
        ObjectNode json = Json.MAKE.objectNode();
        byTopic.forEach((topic, numbers) -> {
            ObjectNode of = json.putObject(topic);
            numbers.forEach((p, offset) -> of.put(p.toString(), offset));
        });
        return json;
    }
}
