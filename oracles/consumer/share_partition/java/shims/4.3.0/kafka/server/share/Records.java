package kafka.server.share;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

/** Records have another package up to 4.2. */
final class Records {
    private Records() { }

    static MemoryRecords one(long offset) {
        return MemoryRecords.withRecords(
                offset, Compression.NONE, new SimpleRecord("r".getBytes()));
    }
}
