package kafka.server.share;

import kafka.server.ReplicaManager;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.purgatory.DelayedOperationPurgatory;
import org.apache.kafka.server.share.metrics.SharePartitionMetrics;
import org.apache.kafka.server.util.timer.Timer;

/** A SharePartition is made otherwise from 4.4 on. */
final class Shares {
    private Shares() { }

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
