package groupcheck.kafka;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * The one partition of __consumer_offsets, in memory: its batches as bytes, the high watermark,
 * and the failures that wait for the next appends.
 */
final class OffsetsLog {
    static final GroupCoordinatorRecordSerde SERDE = new GroupCoordinatorRecordSerde();

    record Entry(byte[] key, byte[] value) {
        CoordinatorRecord decoded() {
            return SERDE.deserialize(
                    ByteBuffer.wrap(key), value == null ? null : ByteBuffer.wrap(value));
        }
    }

    /**
     * One appended batch. `marker` says how a transaction ended, and such a batch has no entries;
     * it is null in every other batch. `producer` is -1 outside transactions.
     */
    record Batch(
            long base, long producer, short epoch, TransactionResult marker, List<Entry> entries) {
        long end() {
            return base + (marker != null ? 1 : entries.size());
        }
    }

    private final List<Batch> batches = new ArrayList<>();
    private final ArrayDeque<Errors> failures = new ArrayDeque<>();
    private long highWatermark;

    void clear() {
        batches.clear();
        failures.clear();
        highWatermark = 0;
    }

    List<Batch> batches() {
        return batches;
    }

    long end() {
        return batches.isEmpty() ? 0 : batches.get(batches.size() - 1).end();
    }

    long highWatermark() {
        return highWatermark;
    }

    /** Moves the high watermark up, at most to the end of the log; true if it moved. */
    boolean commit(long to) {
        long wanted = Math.min(to, end());
        if (wanted <= highWatermark) return false;
        highWatermark = wanted;
        return true;
    }

    /** The next append throws this. */
    void failNext(Errors error) {
        failures.add(error);
    }

    int failuresLeft() {
        return failures.size();
    }

    /**
     * Appends the batches of a MemoryRecords (its package differs by version), or throws the
     * failure that is waiting. Returns the new end.
     */
    long append(Object records) throws Exception {
        if (!failures.isEmpty()) throw failures.poll().exception();
        for (Object batch : (Iterable<?>) Reflect.call(records, "batches")) {
            List<Entry> entries = new ArrayList<>();
            TransactionResult marker = null;
            boolean control = (Boolean) Reflect.call(batch, "isControlBatch");
            for (Object record : (Iterable<?>) batch) {
                ByteBuffer key = (ByteBuffer) Reflect.call(record, "key");
                if (control) {
                    marker = key.getShort(key.position() + 2) == 1
                            ? TransactionResult.COMMIT : TransactionResult.ABORT;
                } else {
                    ByteBuffer value = (ByteBuffer) Reflect.call(record, "value");
                    entries.add(new Entry(Json.bytes(key), Json.bytes(value)));
                }
            }
            long producer = (Long) Reflect.call(batch, "producerId");
            short epoch = (Short) Reflect.call(batch, "producerEpoch");
            batches.add(new Batch(end(), producer, epoch, marker, entries));
        }
        return end();
    }

    /**
     * A new coordinator has only what lies below: whole batches, as a follower would have fetched
     * them.
     */
    void truncate(long to) {
        batches.removeIf(b -> b.end() > to);
        highWatermark = Math.min(highWatermark, end());
    }

    /** Replays what lies below an offset, as CoordinatorLoaderImpl does. */
    void replay(CoordinatorPlayback<CoordinatorRecord> into, long below) {
        for (Batch batch : batches) {
            if (batch.end() > below) break;
            if (batch.marker != null) {
                into.replayEndTransactionMarker(batch.producer, batch.epoch, batch.marker);
            }
            long offset = batch.base;
            for (Entry entry : batch.entries) {
                into.replay(offset++, batch.producer, batch.epoch, entry.decoded());
            }
            into.updateLastWrittenOffset(batch.end());
            into.updateLastCommittedOffset(Math.min(batch.end(), highWatermark));
        }
    }
}
