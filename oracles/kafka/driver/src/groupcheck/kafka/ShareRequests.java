package groupcheck.kafka;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.ShareGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ShareGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;

import java.util.ArrayList;
import java.util.List;

/** The request of members of share groups (KIP-932). An absent field means "unchanged". */
final class ShareRequests {
    private final World world;
    private final Answers answers;

    ShareRequests(World world, Answers answers) {
        this.world = world;
        this.answers = answers;
    }

    void heartbeat(Request r) throws Exception {
        ShareGroupHeartbeatRequestData data = new ShareGroupHeartbeatRequestData()
                .setGroupId(r.group())
                .setMemberId(r.member())
                .setMemberEpoch(r.number("epoch", 0))
                .setSubscribedTopicNames(Json.texts(r.json.get("topics")));
        answers.expect(
                r.broker.service.shareGroupHeartbeat(
                        r.context(ApiKeys.SHARE_GROUP_HEARTBEAT, 1), data),
                this::answered);
        world.clock.drain();
        world.clock.advance(0);     // a timer without a delay asks the persister
    }

    private void answered(ShareGroupHeartbeatResponseData answer, ObjectNode into) {
        into.put("error", answer.errorCode())
                .put("member", world.names.shown(answer.memberId()))
                .put("epoch", answer.memberEpoch());
        if (answer.errorMessage() != null) into.put("exception", answer.errorMessage());
        if (answer.assignment() == null) {
            into.putNull("assigned");
            return;
        }
        List<TopicPartition> assigned = new ArrayList<>();
        answer.assignment().topicPartitions().forEach(t ->
                t.partitions().forEach(p ->
                        assigned.add(new TopicPartition(world.topics.name(t.topicId()), p))));
        into.set("assigned", Json.json(assigned));
    }
}
