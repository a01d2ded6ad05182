package kafka.server.share;

import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.server.storage.log.FetchPartitionData;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/** The log of the partition: records in batches of one size; one offset may have no record. */
record Log(int end, int batch, int missing) {
    /** A log in which each record is alone. */
    static FetchPartitionData one(long offset) {
        return data(List.of(List.of(offset)), offset + 1);
    }

    /** The batches from that with this offset on. */
    FetchPartitionData from(long offset) {
        List<List<Long>> batches = new ArrayList<>();
        for (long base = offset - offset % batch; base < end; base += batch) {
            List<Long> offsets = new ArrayList<>();
            for (long n = base; n < Math.min(base + batch, end); n++)
                if (n != missing) offsets.add(n);
            batches.add(offsets);
        }
        return data(batches, end);
    }

    private static FetchPartitionData data(List<List<Long>> batches, long highWatermark) {
        return new FetchPartitionData(
                Errors.NONE, highWatermark, 0, Records.of(batches), Optional.empty(),
                OptionalLong.empty(), Optional.empty(), OptionalInt.empty(), false);
    }
}
