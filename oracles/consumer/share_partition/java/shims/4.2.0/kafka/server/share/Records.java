package kafka.server.share;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;

/** Records have another package from 4.3 on. */
final class Records {
    private Records() { }

    static MemoryRecords one(long offset) {
        return MemoryRecords.withRecords(
                offset, Compression.NONE, new SimpleRecord("r".getBytes()));
    }
}
