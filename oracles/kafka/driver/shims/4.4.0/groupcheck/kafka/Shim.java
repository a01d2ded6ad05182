package groupcheck.kafka;

import org.apache.kafka.common.message.TxnOffsetCommitRequestData;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.LogContext;

/**
 * What the rest of the driver is compiled against and has another name in older versions. From
 * 4.4.0 on, BufferSupplier and LogContext are internal, and a transaction's commit brings the
 * generation or the epoch of a member in one field (KIP-1319).
 */
final class Shim {
    static final BufferSupplier NO_BUFFERS = BufferSupplier.NO_CACHING;
    static final LogContext LOG = new LogContext();

    private Shim() { }

    static BufferSupplier growingBuffer() {
        return new BufferSupplier.GrowableBufferSupplier();
    }

    static void setGeneration(TxnOffsetCommitRequestData commit, int generation) {
        commit.setGenerationIdOrMemberEpoch(generation);
    }
}
