package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatResponseData;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.protocol.ApiMessage;

import java.util.List;

/** A broker's answers to a member of a consumer group (KIP-848), without a broker. */
final class AsyncAnswers {
    private final Topics topics;

    AsyncAnswers(Topics topics) {
        this.topics = topics;
    }

    /**
     * The answer to a request. `error`; for a heartbeat also epoch, assigned (null: unchanged) and
     * intervalMs. Nothing is committed, and every log begins at 0.
     */
    ApiMessage answer(ClientRequest asked, JsonNode given) throws Exception {
        short version = asked.requestBuilder().latestAllowedVersion();
        ApiMessage request = asked.requestBuilder().build(version).data();
        short error = (short) given.path("error").asInt();
        return switch (asked.apiKey()) {
            case FIND_COORDINATOR -> new FindCoordinatorResponseData().setCoordinators(List.of(
                    new FindCoordinatorResponseData.Coordinator().setKey("g").setErrorCode(error)
                            .setNodeId(MemberNetwork.BROKER.id())
                            .setHost(MemberNetwork.BROKER.host())
                            .setPort(MemberNetwork.BROKER.port())));
            case CONSUMER_GROUP_HEARTBEAT -> heartbeat(given, error);
            case OFFSET_COMMIT -> committed((OffsetCommitRequestData) request, error);
            case OFFSET_FETCH -> nothingCommitted((OffsetFetchRequestData) request, error);
            case LIST_OFFSETS -> beginnings((ListOffsetsRequestData) request);
            default -> throw new Refused("nobody answers " + asked.apiKey());
        };
    }

    private ApiMessage heartbeat(JsonNode given, short error) {
        var answer = new ConsumerGroupHeartbeatResponseData().setErrorCode(error)
                .setMemberEpoch(given.path("epoch").asInt())
                .setHeartbeatIntervalMs(given.path("intervalMs").asInt(5000));
        if (!given.hasNonNull("assigned")) return answer;
        var assignment = new ConsumerGroupHeartbeatResponseData.Assignment();
        given.get("assigned").properties().forEach(e -> assignment.topicPartitions().add(
                new ConsumerGroupHeartbeatResponseData.TopicPartitions()
                        .setTopicId(topics.id(e.getKey()))
                        .setPartitions(Json.integers(e.getValue()))));
        return answer.setAssignment(assignment);
    }

    private static ApiMessage committed(OffsetCommitRequestData request, short error)
            throws Exception {
        OffsetCommitResponseData answer = new OffsetCommitResponseData();
        for (var t : request.topics()) {
            var topic = new OffsetCommitResponseData.OffsetCommitResponseTopic().setName(t.name());
            Versions.setTopicId(topic, Versions.topicId(t));
            t.partitions().forEach(p -> topic.partitions().add(
                    new OffsetCommitResponseData.OffsetCommitResponsePartition()
                            .setPartitionIndex(p.partitionIndex()).setErrorCode(error)));
            answer.topics().add(topic);
        }
        return answer;
    }

    private static ApiMessage nothingCommitted(OffsetFetchRequestData request, short error)
            throws Exception {
        OffsetFetchResponseData answer = new OffsetFetchResponseData();
        for (var g : request.groups()) {
            var group = new OffsetFetchResponseData.OffsetFetchResponseGroup()
                    .setGroupId(g.groupId()).setErrorCode(error);
            for (var t : g.topics()) {
                var topic = new OffsetFetchResponseData.OffsetFetchResponseTopics()
                        .setName(t.name());
                Versions.setTopicId(topic, Versions.topicId(t));
                t.partitionIndexes().forEach(p -> topic.partitions().add(
                        new OffsetFetchResponseData.OffsetFetchResponsePartitions()
                                .setPartitionIndex(p).setCommittedOffset(-1)));
                group.topics().add(topic);
            }
            answer.groups().add(group);
        }
        return answer;
    }

    private static ApiMessage beginnings(ListOffsetsRequestData request) {
        ListOffsetsResponseData answer = new ListOffsetsResponseData();
        request.topics().forEach(t -> {
            var topic = new ListOffsetsResponseData.ListOffsetsTopicResponse().setName(t.name());
            t.partitions().forEach(p -> topic.partitions().add(
                    new ListOffsetsResponseData.ListOffsetsPartitionResponse()
                            .setPartitionIndex(p.partitionIndex()).setOffset(0)));
            answer.topics().add(topic);
        });
        return answer;
    }
}
