package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestPartition;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestTopic;
import org.apache.kafka.common.message.OffsetDeleteRequestData;
import org.apache.kafka.common.message.OffsetDeleteRequestData.OffsetDeleteRequestPartition;
import org.apache.kafka.common.message.OffsetDeleteRequestData.OffsetDeleteRequestTopic;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestTopics;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseGroup;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData.TxnOffsetCommitRequestPartition;
import org.apache.kafka.common.message.TxnOffsetCommitRequestData.TxnOffsetCommitRequestTopic;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.utils.BufferSupplier;

import java.util.ArrayList;
import java.util.Map;

/** Offsets and transactions. Offsets are {"topic": {"0": 5}}; error codes are told for each partition the same way. */
final class OffsetRequests {
    private final World world;
    private final Answers answers;

    OffsetRequests(World world, Answers answers) {
        this.world = world;
        this.answers = answers;
    }

    void commit(Request r) throws Exception {
        OffsetCommitRequestData data = new OffsetCommitRequestData().setGroupId(r.group()).setMemberId(r.member())
            .setGroupInstanceId(r.instance()).setGenerationIdOrMemberEpoch(r.number("generation", -1)).setRetentionTimeMs(r.number("retentionMs", -1));
        for (Map.Entry<String, JsonNode> t : r.json.path("offsets").properties()) {
            OffsetCommitRequestTopic topic = new OffsetCommitRequestTopic().setName(t.getKey());
            Versions.setTopicId(topic, topicId(r, t.getKey()));
            for (Map.Entry<String, JsonNode> p : t.getValue().properties())
                topic.partitions().add(new OffsetCommitRequestPartition().setPartitionIndex(Integer.parseInt(p.getKey()))
                    .setCommittedOffset(p.getValue().asLong()).setCommittedMetadata(metadata(r)));
            data.topics().add(topic);
        }
        answers.expect(r.broker.service.commitOffsets(r.context(ApiKeys.OFFSET_COMMIT, 9), data, BufferSupplier.NO_CACHING), (answer, into) -> {
            into.put("error", 0);
            answer.topics().forEach(t -> t.partitions().forEach(p -> error(into, t.name(), p.partitionIndex(), p.errorCode())));
        });
    }

    void commitInTransaction(Request r) throws Exception {
        TxnOffsetCommitRequestData data = new TxnOffsetCommitRequestData().setGroupId(r.group()).setMemberId(r.member())
            .setGroupInstanceId(r.instance()).setGenerationId(r.number("generation", -1))
            .setTransactionalId("tx").setProducerId(r.number("producer", 1)).setProducerEpoch((short) 0);
        for (Map.Entry<String, JsonNode> t : r.json.path("offsets").properties()) {
            TxnOffsetCommitRequestTopic topic = new TxnOffsetCommitRequestTopic().setName(t.getKey());
            for (Map.Entry<String, JsonNode> p : t.getValue().properties())
                topic.partitions().add(new TxnOffsetCommitRequestPartition().setPartitionIndex(Integer.parseInt(p.getKey()))
                    .setCommittedOffset(p.getValue().asLong()).setCommittedMetadata(metadata(r)));
            data.topics().add(topic);
        }
        answers.expect(r.broker.service.commitTransactionalOffsets(r.context(ApiKeys.TXN_OFFSET_COMMIT, 4), data, BufferSupplier.NO_CACHING),
            (answer, into) -> {
                into.put("error", 0);
                answer.topics().forEach(t -> t.partitions().forEach(p -> error(into, t.name(), p.partitionIndex(), p.errorCode())));
            });
    }

    void endTransaction(Request r) throws Exception {
        TransactionResult result = r.json.path("commit").asBoolean(true) ? TransactionResult.COMMIT : TransactionResult.ABORT;
        answers.expect(Versions.completeTransaction(r.broker.service, World.PARTITION, r.number("producer", 1), result),
            (answer, into) -> into.put("error", 0));
    }

    void fetch(Request r) throws Exception {
        OffsetFetchRequestGroup data = new OffsetFetchRequestGroup().setGroupId(r.group())
            .setMemberId(r.json.has("member") ? r.member() : null).setMemberEpoch(r.number("generation", -1))
            .setTopics(r.json.path("topics").isNull() ? null : new ArrayList<>());
        for (Map.Entry<String, JsonNode> t : r.json.path("topics").properties()) {
            OffsetFetchRequestTopics topic = new OffsetFetchRequestTopics().setName(t.getKey()).setPartitionIndexes(Json.integers(t.getValue()));
            Versions.setTopicId(topic, topicId(r, t.getKey()));
            data.topics().add(topic);
        }
        answers.expect(Versions.fetchOffsets(r.broker.service, r.context(ApiKeys.OFFSET_FETCH, 9), data, r.json.path("stable").asBoolean(true)), this::fetched);
    }

    private static String metadata(Request r) {
        return r.json.path("metadata").isNull() ? null : r.text("metadata", "");
    }

    /** The topic's own id, or that of the topic which "topicIds" names in its place; of "", none. */
    private Uuid topicId(Request r, String topic) {
        String of = Json.text(r.json.path("topicIds"), topic, topic);
        return of.isEmpty() ? Uuid.ZERO_UUID : world.topics.id(of);
    }

    private void fetched(OffsetFetchResponseGroup answer, ObjectNode into) {
        into.put("error", answer.errorCode());
        ObjectNode offsets = into.putObject("offsets");
        answer.topics().forEach(t -> t.partitions().forEach(p -> {
            error(into, t.name(), p.partitionIndex(), p.errorCode());
            byTopic(offsets, t.name()).put(String.valueOf(p.partitionIndex()), p.committedOffset());
        }));
    }

    void delete(Request r) throws Exception {
        OffsetDeleteRequestData data = new OffsetDeleteRequestData().setGroupId(r.group());
        for (Map.Entry<String, JsonNode> t : r.json.path("topics").properties()) {
            OffsetDeleteRequestTopic topic = new OffsetDeleteRequestTopic().setName(t.getKey());
            t.getValue().forEach(p -> topic.partitions().add(new OffsetDeleteRequestPartition().setPartitionIndex(p.asInt())));
            data.topics().add(topic);
        }
        answers.expect(r.broker.service.deleteOffsets(r.context(ApiKeys.OFFSET_DELETE, 0), data, BufferSupplier.NO_CACHING), (answer, into) -> {
            into.put("error", answer.errorCode());
            answer.topics().forEach(t -> t.partitions().forEach(p -> error(into, t.name(), p.partitionIndex(), p.errorCode())));
        });
    }

    /** Notes a partition's code; the answer's own is the first that is not 0. */
    private static void error(ObjectNode into, String topic, int partition, short code) {
        if (into.path("error").asInt() == 0) into.put("error", code);
        if (code != 0) byTopic(into.has("errors") ? (ObjectNode) into.get("errors") : into.putObject("errors"), topic).put(String.valueOf(partition), code);
    }

    private static ObjectNode byTopic(ObjectNode all, String topic) {
        return all.has(topic) ? (ObjectNode) all.get(topic) : all.putObject(topic);
    }
}
