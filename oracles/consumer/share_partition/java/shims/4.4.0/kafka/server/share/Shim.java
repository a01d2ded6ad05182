package kafka.server.share;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfigProvider;
import org.apache.kafka.server.share.metrics.SharePartitionMetrics;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.Timer;

import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** What has another name or form up to 4.3. */
final class Shim {
    private Shim() { }

    static FetchPartitionData data(long offset) {
        MemoryRecords records = MemoryRecords.withRecords(
                offset, Compression.NONE, new SimpleRecord("r".getBytes()));
        return new FetchPartitionData(
                Errors.NONE, offset + 1, 0, records, Optional.empty(), OptionalLong.empty(),
                Optional.empty(), OptionalInt.empty(), false);
    }

    /** Nobody waits for a fetch, and no dead-letter queue is on (KIP-1191). */
    static SharePartition partition(int term, int maxDelivery, Timer timer, Store store)
            throws Exception {
        return new SharePartition(
                "g", Leader.PARTITION, term, Leader.IN_FLIGHT, maxDelivery, Leader.LOCK_MS, timer,
                Time.SYSTEM, store, null, key -> { },
                new ShareGroupConfigProvider(Hollow.groupConfigs()),
                SharePartition.SharePartitionState.EMPTY, null,
                new SharePartitionMetrics("g", "t", 0), () -> false, null);
    }
}
