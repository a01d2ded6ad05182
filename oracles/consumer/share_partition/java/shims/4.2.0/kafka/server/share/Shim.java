package kafka.server.share;

import kafka.server.ReplicaManager;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.purgatory.DelayedOperationPurgatory;
import org.apache.kafka.server.share.metrics.SharePartitionMetrics;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.Timer;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** What has another name or form from 4.3 on. */
final class Shim {
    private Shim() { }

    static FetchPartitionData data(long offset) {
        MemoryRecords records = MemoryRecords.withRecords(
                offset, Compression.NONE, new SimpleRecord("r".getBytes()));
        return new FetchPartitionData(
                Errors.NONE, offset + 1, 0, records, Optional.empty(), OptionalLong.empty(),
                Optional.empty(), OptionalInt.empty(), false);
    }

    /** The partition tells a replica manager only that a delayed fetch may go on. */
    static SharePartition partition(int term, int maxDelivery, Timer timer, Store store)
            throws Exception {
        ReplicaManager replicas = Hollow.made(ReplicaManager.class);
        Hollow.set(replicas, "delayedShareFetchPurgatory",
                new DelayedOperationPurgatory<DelayedShareFetch>(
                        "share", new Leader.Stopped(), 0, 1000, false, false));
        return new SharePartition(
                "g", Leader.PARTITION, term, Leader.IN_FLIGHT, maxDelivery, Leader.LOCK_MS, timer,
                Time.SYSTEM, store, replicas, Hollow.groupConfigs(),
                SharePartition.SharePartitionState.EMPTY, null,
                new SharePartitionMetrics("g", "t", 0));
    }
}
