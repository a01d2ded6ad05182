package kafka.server.share;

import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfigProvider;
import org.apache.kafka.server.share.metrics.SharePartitionMetrics;
import org.apache.kafka.server.util.timer.Timer;

/** A SharePartition is made otherwise up to 4.3. */
final class Shares {
    private Shares() { }

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
