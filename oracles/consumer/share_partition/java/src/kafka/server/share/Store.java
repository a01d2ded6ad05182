package kafka.server.share;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.coordinator.share.PersisterStateBatchCombiner;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.DeleteShareGroupStateResult;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateParameters;
import org.apache.kafka.server.share.persister.InitializeShareGroupStateResult;
import org.apache.kafka.server.share.persister.PartitionFactory;
import org.apache.kafka.server.share.persister.PartitionStateBatchData;
import org.apache.kafka.server.share.persister.Persister;
import org.apache.kafka.server.share.persister.PersisterStateBatch;
import org.apache.kafka.server.share.persister.ReadShareGroupStateParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateResult;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryParameters;
import org.apache.kafka.server.share.persister.ReadShareGroupStateSummaryResult;
import org.apache.kafka.server.share.persister.TopicData;
import org.apache.kafka.server.share.persister.WriteShareGroupStateParameters;
import org.apache.kafka.server.share.persister.WriteShareGroupStateResult;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.LongStream;

/**
 * A persister that keeps states as the share coordinator does, and whose writes end when they are
 * told to: "ok", "fail" (nothing is stored), or "unanswered" (it is stored, and the leader is told
 * of an error).
 */
final class Store implements Persister {
    private record Write(
            PartitionStateBatchData data, CompletableFuture<WriteShareGroupStateResult> answer) {
        boolean has(long offset) {
            return data.stateBatches().stream()
                    .anyMatch(b -> b.firstOffset() <= offset && offset <= b.lastOffset());
        }
    }

    private final List<Write> writes = new ArrayList<>();
    private List<PersisterStateBatch> stored = List.of();
    private long start;
    private String atOnce;

    long start() {
        return start;
    }

    String shown(long offset) {
        return stored.stream()
                .filter(b -> b.firstOffset() <= offset && offset <= b.lastOffset())
                .map(b -> b.deliveryState() + " " + b.deliveryCount())
                .findFirst().orElse("0 0");
    }

    /** The records of the newest write. */
    List<Long> newest() {
        return writes.get(writes.size() - 1).data.stateBatches().stream()
                .flatMap(b -> LongStream.rangeClosed(b.firstOffset(), b.lastOffset()).boxed())
                .toList();
    }

    /** How writes end that begin from now on; null: when they are told to. */
    void atOnce(String how) {
        atOnce = how;
    }

    /** The write of this record ends. */
    void end(long offset, String how) {
        Write write = writes.stream().filter(w -> w.has(offset)).findFirst().orElseThrow();
        writes.remove(write);
        end(write, how);
    }

    /** The leader is gone: its writes are there ("written") or not. */
    void abandon(String how) {
        if (how.equals("written")) writes.forEach(this::keep);
        writes.clear();
    }

    private void end(Write write, String how) {
        if (!how.equals("fail")) keep(write);
        Errors error = how.equals("ok") ? Errors.NONE : Errors.COORDINATOR_NOT_AVAILABLE;
        write.answer.complete(new WriteShareGroupStateResult.Builder().setTopicsData(List.of(
                new TopicData<>(Leader.PARTITION.topicId(), List.of(
                        PartitionFactory.newPartitionErrorData(0, error.code(), error.message())))))
                .build());
    }

    private void keep(Write write) {
        start = Math.max(start, write.data.startOffset());
        stored = combined(stored, write.data.stateBatches());
        // Up to 4.3 neighbours that became alike in one merge are joined by the next one.
        for (int before = 0; before != stored.size(); ) {
            before = stored.size();
            stored = combined(stored, List.of());
        }
    }

    private List<PersisterStateBatch> combined(
            List<PersisterStateBatch> before, List<PersisterStateBatch> more) {
        return new PersisterStateBatchCombiner(before, more, start).combineStateBatches();
    }

    @Override
    public CompletableFuture<WriteShareGroupStateResult> writeState(
            WriteShareGroupStateParameters asked) {
        PartitionStateBatchData data =
                asked.groupTopicPartitionData().topicsData().get(0).partitions().get(0);
        Write write = new Write(data, new CompletableFuture<>());
        if (atOnce == null) writes.add(write);
        else end(write, atOnce);
        return write.answer;
    }

    @Override
    public CompletableFuture<ReadShareGroupStateResult> readState(
            ReadShareGroupStateParameters asked) {
        return CompletableFuture.completedFuture(new ReadShareGroupStateResult.Builder()
                .setTopicsData(List.of(new TopicData<>(Leader.PARTITION.topicId(), List.of(
                        PartitionFactory.newPartitionAllData(
                                0, 0, start, Errors.NONE.code(), "", stored)))))
                .build());
    }

    @Override
    public CompletableFuture<InitializeShareGroupStateResult> initializeState(
            InitializeShareGroupStateParameters asked) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<DeleteShareGroupStateResult> deleteState(
            DeleteShareGroupStateParameters asked) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<ReadShareGroupStateSummaryResult> readSummary(
            ReadShareGroupStateSummaryParameters asked) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void stop() { }
}
