package kafka.server.share;

import org.apache.kafka.clients.consumer.internals.ShareAcquireMode;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.server.share.acknowledge.ShareAcknowledgementBatch;
import org.apache.kafka.server.share.fetch.AcquisitionLockTimerTask;
import org.apache.kafka.server.share.fetch.InFlightBatch;
import org.apache.kafka.server.share.fetch.InFlightState;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;

import java.lang.reflect.Field;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
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
    private final Log log;
    private final Store store = new Store();
    private final Map<Long, CompletableFuture<Void>> acknowledging = new ConcurrentHashMap<>();
    private int term;
    private SharePartition partition;

    Leader(int maxDelivery, Log log) throws Exception {
        this.maxDelivery = maxDelivery;
        this.log = log;
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
            case "fetch":
                return fetch(words[1], ShareAcquireMode.of(words[2]), Integer.parseInt(words[3]));
            case "acknowledge":
                return acknowledge(words[1], Stream.of(words[2].split("\\+")).map(Leader::batch)
                        .toList());
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
                member, ShareAcquireMode.BATCH_OPTIMIZED, 1, 1, offset, Log.one(offset),
                FetchIsolation.HIGH_WATERMARK).count();
    }

    /** What the leader gives of the log from its next offset on: each offset with its count. */
    private String fetch(String member, ShareAcquireMode mode, int most) {
        long next = partition.nextFetchOffset();
        if (next >= log.end()) return "none";
        return partition.acquire(
                member, mode, IN_FLIGHT, most, next, log.from(next), FetchIsolation.HIGH_WATERMARK)
                .acquiredRecords().stream()
                .flatMap(r -> LongStream.rangeClosed(r.firstOffset(), r.lastOffset())
                        .mapToObj(offset -> offset + ":" + r.deliveryCount()))
                .collect(Collectors.joining(","));
    }

    /** "0-2=1,0,1": offsets, and a type for each, or one for all. */
    private static ShareAcknowledgementBatch batch(String asked) {
        String[] parts = asked.split("[-=]");
        return new ShareAcknowledgementBatch(
                Long.parseLong(parts[0]), Long.parseLong(parts[1]),
                Stream.of(parts[2].split(",")).map(Byte::valueOf).toList());
    }

    private String acknowledge(String member, List<ShareAcknowledgementBatch> batches) {
        CompletableFuture<Void> answer;
        try {
            answer = partition.acknowledge(member, batches);
        } catch (NullPointerException e) {
            return "NullPointer";
        }
        if (!answer.isDone())
            for (ShareAcknowledgementBatch batch : batches)
                for (long n = batch.firstOffset(); n <= batch.lastOffset(); n++)
                    acknowledging.put(n, answer);
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
     * is under way, whether its lock runs, what the store has of it, and its batch: first, last,
     * and whether it has one state for all.
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
                    .append(' ').append(store.shown(offset)).append(' ').append(within(offset));
        }
        return said.toString();
    }

    private String within(long offset) {
        Map.Entry<Long, InFlightBatch> found = partition.cachedState().floorEntry(offset);
        if (found == null || found.getValue().lastOffset() < offset) return "-";
        InFlightBatch batch = found.getValue();
        return batch.firstOffset() + "-" + batch.lastOffset() + "-" + (batch.offsetState() == null);
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
