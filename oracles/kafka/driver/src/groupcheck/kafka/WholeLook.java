package groupcheck.kafka;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.clients.consumer.internals.SubscriptionState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.utils.Timer;

import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What a member of a whole group and its connection show after each step. It is less than what a
 * member alone shows (`MemberLook`), because the coordinator shows the rest.
 */
final class WholeLook {
    private static final TopicPartition WATCHED = new TopicPartition("t", 0);

    private final Names names;

    WholeLook(Names names) {
        this.names = names;
    }

    ObjectNode of(Member member, WholeLink link, WholeLink.Late late) throws Exception {
        Object coordinator = member.coordinator;
        Object generation = Reflect.field(coordinator, "generation");
        ObjectNode look = Json.MAKE.objectNode()
                .put("state", Reflect.field(coordinator, "state").toString())
                .put("generation", (Integer) Reflect.field(generation, "generationId"))
                .put("member", names.shown((String) Reflect.field(generation, "memberId")))
                .put("rejoin", (Boolean) Reflect.field(coordinator, "rejoinNeeded"))
                .put("prepare", (Boolean) Reflect.field(coordinator, "needsJoinPrepare"))
                .put("joining", Reflect.field(coordinator, "joinFuture") != null)
                .put("committing", MemberLook.committing(
                        Reflect.field(coordinator, "autoCommitOffsetRequestFuture")))
                .put("coordinator", Reflect.field(coordinator, "coordinator") != null)
                .put("owned", mask(member.subscriptions.assignedPartitions()))
                .put("position", position(member))
                .put("heart", MemberLook.heart(member));
        Object poll = Reflect.field(Reflect.field(coordinator, "heartbeat"), "pollTimer");
        look.put("pollOver", look.get("heart").asText().equals("on") && over(member, poll))
                .put("prepareOver", over(member, Reflect.field(coordinator, "joinPrepareTimer")));
        unsent(member, look.putArray("unsent"));
        ArrayNode unread = look.putArray("unread");
        for (ClientRequest request : link.unread()) request(unread.addArray(), data(request));
        ClientRequest outstanding = link.outstanding();
        if (outstanding == null) look.putNull("outstanding");
        else request(look.putArray("outstanding"), data(outstanding));
        if (late == null) look.putNull("late");
        else request(look.putArray("late"), late.data());
        return look;
    }

    private static int mask(Collection<TopicPartition> partitions) {
        int mask = 0;
        for (TopicPartition p : partitions) mask |= 1 << p.partition();
        return mask;
    }

    private static long position(Member member) {
        if (!member.subscriptions.isAssigned(WATCHED)) return -1;
        SubscriptionState.FetchPosition position = member.subscriptions.position(WATCHED);
        return position == null ? -1 : position.offset;
    }

    /** Has a timer run out? One that does not run has not. */
    private static boolean over(Member member, Object timer) {
        return timer != null
                && (Long) Reflect.field((Timer) timer, "deadlineMs") <= member.clock.now;
    }

    private static void unsent(Member member, ArrayNode into) {
        Map<?, ?> waiting = (Map<?, ?>) Reflect.field(
                Reflect.field(member.client, "unsent"), "unsent");
        for (Object queue : waiting.values())
            for (Object request : (ConcurrentLinkedQueue<?>) queue) {
                into.add(((ClientRequest) request).apiKey().name);
            }
    }

    private static ApiMessage data(ClientRequest request) {
        return WholeLink.copy(request).data();
    }

    /**
     * The API, the member's id, its generation (of a JoinGroup the one in the subscription), the
     * watched partition's offset, -1 for what a request does not have, and the partitions that a
     * JoinGroup claims.
     */
    private void request(ArrayNode into, ApiMessage data) {
        if (data instanceof JoinGroupRequestData join) {
            ByteBuffer first = ByteBuffer.wrap(join.protocols().iterator().next().metadata());
            Subscription said = ConsumerProtocol.deserializeSubscription(first);
            put(into, "JoinGroup", join.memberId(), said.generationId().orElse(-1), -1,
                    mask(said.ownedPartitions()));
        } else if (data instanceof SyncGroupRequestData sync) {
            put(into, "SyncGroup", sync.memberId(), sync.generationId(), -1);
        } else if (data instanceof HeartbeatRequestData heartbeat) {
            put(into, "Heartbeat", heartbeat.memberId(), heartbeat.generationId(), -1);
        } else if (data instanceof LeaveGroupRequestData leave) {
            put(into, "LeaveGroup", leave.members().get(0).memberId(), -1, -1);
        } else if (data instanceof OffsetCommitRequestData commit) {
            long offset = -1;
            for (var topic : commit.topics())
                for (var partition : topic.partitions())
                    if (partition.partitionIndex() == WATCHED.partition()) {
                        offset = partition.committedOffset();
                    }
            put(into, "OffsetCommit", commit.memberId(), commit.generationIdOrMemberEpoch(),
                    offset);
        } else {
            put(into, data.getClass().getSimpleName(), "", -1, -1);
        }
    }

    private void put(ArrayNode into, String api, String member, int generation, long offset) {
        put(into, api, member, generation, offset, 0);
    }

    private void put(
            ArrayNode into, String api, String member, int generation, long offset, int claims) {
        into.add(api).add(names.shown(member)).add(generation).add(offset).add(claims);
    }
}
