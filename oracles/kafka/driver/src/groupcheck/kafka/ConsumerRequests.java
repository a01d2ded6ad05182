package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.ConsumerGroupDescribeResponseData.DescribedGroup;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData.TopicPartitions;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;

import java.util.ArrayList;
import java.util.List;

/** The requests of KIP-848. Absent fields stay null: "unchanged since the last heartbeat", which an empty list is not. */
final class ConsumerRequests {
    private final World world;
    private final Answers answers;

    ConsumerRequests(World world, Answers answers) {
        this.world = world;
        this.answers = answers;
    }

    void heartbeat(Request r) throws Exception {
        ConsumerGroupHeartbeatRequestData data = new ConsumerGroupHeartbeatRequestData().setGroupId(r.group()).setMemberId(r.member())
            .setInstanceId(r.instance()).setMemberEpoch(r.number("epoch", 0)).setRackId(r.text("rack", null))
            .setRebalanceTimeoutMs(r.number("rebalanceTimeoutMs", -1)).setSubscribedTopicNames(Json.texts(r.json.get("topics")))
            .setSubscribedTopicRegex(r.text("regex", null)).setServerAssignor(r.text("assignor", null)).setTopicPartitions(owned(r.json.get("owned")));
        answers.expect(r.broker.service.consumerGroupHeartbeat(r.context(ApiKeys.CONSUMER_GROUP_HEARTBEAT, 1), data), this::answered);
    }

    private List<TopicPartitions> owned(JsonNode given) {
        if (given == null || given.isNull()) return null;
        List<TopicPartitions> owned = new ArrayList<>();
        given.properties().forEach(e ->
            owned.add(new TopicPartitions().setTopicId(world.topics.id(e.getKey())).setPartitions(Json.integers(e.getValue()))));
        return owned;
    }

    private void answered(ConsumerGroupHeartbeatResponseData answer, ObjectNode into) {
        into.put("error", answer.errorCode()).put("member", world.names.shown(answer.memberId())).put("epoch", answer.memberEpoch());
        if (answer.errorMessage() != null) into.put("exception", answer.errorMessage());
        if (answer.assignment() == null) {
            into.putNull("assigned");
            return;
        }
        List<TopicPartition> assigned = new ArrayList<>();
        answer.assignment().topicPartitions().forEach(t ->
            t.partitions().forEach(p -> assigned.add(new TopicPartition(world.topics.name(t.topicId()), p))));
        into.set("assigned", Json.json(assigned));
    }

    void describe(Request r) throws Exception {
        answers.expect(r.broker.service.consumerGroupDescribe(r.context(ApiKeys.CONSUMER_GROUP_DESCRIBE, 1), List.of(r.group())), (answer, into) -> {
            DescribedGroup group = answer.get(0);
            into.put("error", group.errorCode()).put("state", group.groupState()).put("epoch", group.groupEpoch())
                .put("assignmentEpoch", group.assignmentEpoch()).put("assignor", group.assignorName());
            ArrayNode members = into.putArray("members");
            group.members().forEach(m -> members.addObject().put("member", world.names.shown(m.memberId())).put("epoch", m.memberEpoch()));
        });
    }
}
