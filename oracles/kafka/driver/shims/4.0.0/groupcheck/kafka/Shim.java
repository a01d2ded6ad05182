package groupcheck.kafka;

import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;

/** What the rest of the driver is compiled against and has another name from 4.4.0 on. */
final class Shim {
    static final BufferSupplier NO_BUFFERS = BufferSupplier.NO_CACHING;
    static final LogContext LOG = new LogContext();

    private Shim() { }

    static BufferSupplier growingBuffer() {
        return new BufferSupplier.GrowableBufferSupplier();
    }

    static void setGeneration(TxnOffsetCommitRequestData commit, int generation) {
        commit.setGenerationId(generation);
    }
}
