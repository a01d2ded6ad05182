package kafka.server.share;

import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;

import java.nio.ByteBuffer;
import java.util.List;

/** Records have another package up to 4.2. */
final class Records {
    private Records() { }

    /** A batch for each list of offsets. */
    static MemoryRecords of(List<List<Long>> batches) {
        ByteBuffer bytes = ByteBuffer.allocate(1024);
        for (List<Long> offsets : batches) {
            MemoryRecordsBuilder builder = MemoryRecords.builder(
                    bytes, Compression.NONE, TimestampType.CREATE_TIME, offsets.get(0));
            for (long offset : offsets)
                builder.appendWithOffset(offset, 0L, new byte[0], new byte[] {'r'});
            builder.close();
        }
        bytes.flip();
        return MemoryRecords.readableRecords(bytes);
    }
}
