package kafka.server.share;

import org.apache.kafka.clients.consumer.internals.ShareAcquireMode;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.fetch.AcquisitionLockTimerTask;
import org.apache.kafka.server.share.fetch.InFlightBatch;
import org.apache.kafka.server.share.fetch.InFlightState;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.storage.log.FetchPartitionData;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

/**
 * Kafka's own SharePartition, and the leaders after it. Nothing happens by itself: writes end, and
 * locks run out, when they are told to.
 */
final class Leader {
    static final TopicIdPartition PARTITION =
            new TopicIdPartition(new Uuid(1, 2), new TopicPartition("t", 0));
    static final int IN_FLIGHT = 200;
    static final int LOCK_MS = 30_000;

    private final int maxDelivery;
    private final Store store = new Store();
    private final Map<Long, CompletableFuture<Void>> acknowledging = new ConcurrentHashMap<>();
    private int term;
    private SharePartition partition;

    Leader(int maxDelivery) throws Exception {
        this.maxDelivery = maxDelivery;
        lead();
    }

    /** The next leader reads what the store has. */
    private void lead() throws Exception {
        acknowledging.clear();
        partition = Shares.partition(term++, maxDelivery, new Stopped(), store);
        partition.maybeInitialize().get();
    }

    /** Carries out one command, and says what came of it. */
    String told(String[] words) throws Exception {
        switch (words[0]) {
            case "acquire":
                return String.valueOf(acquire(words[1], Long.parseLong(words[2])));
            case "acknowledge":
                return acknowledge(words[1], words[2].split(","), Byte.parseByte(words[3]));
            case "write":
                store.end(Long.parseLong(words[1]), words[2]);
                CompletableFuture<Void> waits = acknowledging.remove(Long.parseLong(words[1]));
                return waits == null ? "nobody" : outcome(waits);
            case "lock":
                AcquisitionLockTimerTask task = state(Long.parseLong(words[1]))
                        .acquisitionLockTimeoutTask();
                store.atOnce(words[2]);
                task.run();
                store.atOnce(null);
                return "over";
            case "release":
                CompletableFuture<Void> released = partition.releaseAcquiredRecords(words[1]);
                if (!released.isDone())
                    store.newest().forEach(offset -> acknowledging.put(offset, released));
                return outcome(released);
            case "lead":
                store.abandon(words[1]);
                lead();
                return "leads";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    private int acquire(String member, long offset) {
        return partition.acquire(
                member, ShareAcquireMode.BATCH_OPTIMIZED, 1, 1, offset, data(offset),
                FetchIsolation.HIGH_WATERMARK).count();
    }

    private static FetchPartitionData data(long offset) {
        return new FetchPartitionData(
                Errors.NONE, offset + 1, 0, Records.one(offset), Optional.empty(),
                OptionalLong.empty(), Optional.empty(), OptionalInt.empty(), false);
    }

    /** All offsets in one request, a batch for each. */
    private String acknowledge(String member, String[] offsets, byte type) {
        List<Long> these = Stream.of(offsets).map(Long::valueOf).toList();
        CompletableFuture<Void> answer = partition.acknowledge(member, these.stream()
                .map(offset -> new ShareAcknowledgementBatch(offset, offset, List.of(type)))
                .toList());
        if (!answer.isDone()) these.forEach(offset -> acknowledging.put(offset, answer));
        return outcome(answer);
    }

    private static String outcome(CompletableFuture<Void> answer) {
        if (!answer.isDone()) return "waits";
        try {
            answer.join();
            return "well";
        } catch (Exception e) {
            return e.getCause().getClass().getSimpleName();
        }
    }

    private InFlightState state(long offset) throws Exception {
        Map.Entry<Long, InFlightBatch> found = partition.cachedState().floorEntry(offset);
        if (found == null || found.getValue().lastOffset() < offset) return null;
        InFlightBatch batch = found.getValue();
        if (batch.offsetState() != null) return batch.offsetState().get(offset);
        for (Field field : InFlightBatch.class.getDeclaredFields())
            if (field.getType() == InFlightState.class) {
                field.setAccessible(true);
                return (InFlightState) field.get(batch);
            }
        throw new IllegalStateException("a batch has no state");
    }

    /**
     * The start offset, that of the store, and each record: state, count, member, whether a write
     * is under way, whether its lock runs, and what the store has of it.
     */
    String shown(int records) throws Exception {
        StringBuilder said = new StringBuilder().append(partition.startOffset())
                .append(' ').append(store.start());
        for (long offset = 0; offset < records; offset++) {
            InFlightState state = state(offset);
            AcquisitionLockTimerTask lock =
                    state == null ? null : state.acquisitionLockTimeoutTask();
            said.append('|');
            if (state == null) said.append("none 0 - false");
            else said.append(state.state()).append(' ').append(state.deliveryCount()).append(' ')
                    .append(state.memberId().isEmpty() ? "-" : state.memberId()).append(' ')
                    .append(state.hasOngoingStateTransition());
            said.append(' ').append(lock != null && !lock.hasExpired() && !lock.isCancelled())
                    .append(' ').append(store.shown(offset));
        }
        return said.toString();
    }

    /** Timers do not run by themselves. One that is added can be cancelled. */
    static final class Stopped implements Timer {
        @Override
        public void add(TimerTask task) {
            new TimerTaskEntry(task, task.delayMs);
        }

        @Override
        public boolean advanceClock(long ms) {
            return false;
        }

        @Override
        public int size() {
            return 0;
        }

        @Override
        public void close() { }
    }
}
