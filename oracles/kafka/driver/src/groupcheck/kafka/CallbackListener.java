package groupcheck.kafka;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.common.TopicPartition;

import java.util.Collection;
import java.util.function.BiConsumer;

/** The application's callbacks, each with its name: revoked, assigned, lost. */
record CallbackListener(BiConsumer<String, Collection<TopicPartition>> called)
        implements ConsumerRebalanceListener {
    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        called.accept("revoked", partitions);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        called.accept("assigned", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        called.accept("lost", partitions);
    }
}
