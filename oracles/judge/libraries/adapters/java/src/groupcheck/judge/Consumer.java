package groupcheck.judge;

import static groupcheck.judge.Contract.tell;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Kafka's own consumer. It polls, the library commits by itself. */
public final class Consumer implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(50);
    private static final String ASSIGNORS = "org.apache.kafka.clients.consumer.";

    public static void main(String[] arguments) {
        Properties properties = new Properties();
        properties.putAll(Map.of(
                "bootstrap.servers", Contract.text("KAFKA_BOOTSTRAP", ""),
                "group.id", Contract.text("KAFKA_GROUP", ""),
                "partition.assignment.strategy", assignor(Contract.ASSIGNOR),
                "session.timeout.ms", Contract.SESSION,
                "heartbeat.interval.ms", Contract.HEARTBEAT,
                "max.poll.interval.ms", Contract.REBALANCE,
                "enable.auto.commit", true,
                "auto.commit.interval.ms", Contract.COMMIT,
                "interceptor.classes", Commits.class.getName(),
                "auto.offset.reset", "earliest"));
        properties.putAll(Map.of(
                "fetch.max.wait.ms", 50,
                "retry.backoff.ms", 50,
                "reconnect.backoff.ms", 50,
                "reconnect.backoff.max.ms", 200,
                "metadata.max.age.ms", 500,
                "default.api.timeout.ms", Contract.REBALANCE + 5000,
                "request.timeout.ms", Contract.REBALANCE + 5000));
        String instance = System.getenv("KAFKA_INSTANCE_ID");
        if (instance != null) {
            properties.put("group.instance.id", instance);
        }
        Contract.listen();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            tell("started", "library", "java", "version", version());
            consumer.subscribe(List.of(Contract.text("KAFKA_TOPIC", "")), new Consumer());
            while (!Contract.STOPPED.get() && poll(consumer)) {
                // The next poll.
            }
        } catch (KafkaException failed) {
            tell("error", "error", name(failed), "reason", failed.getMessage());
        }
        tell("closed");
    }

    /** Of the library, as its jar says it. */
    private static String version() {
        Properties told = new Properties();
        try (InputStream file =
                KafkaConsumer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            told.load(file);
        } catch (IOException | NullPointerException unknown) {
            return "";
        }
        return told.getProperty("version", "");
    }

    private static String assignor(String name) {
        switch (name) {
            case "range":
                return ASSIGNORS + "RangeAssignor";
            case "roundrobin":
                return ASSIGNORS + "RoundRobinAssignor";
            case "sticky":
                return ASSIGNORS + "StickyAssignor";
            case "cooperative":
                return ASSIGNORS + "CooperativeStickyAssignor";
            default:
                System.err.println("Java has no assignor " + name);
                System.exit(2);
                return "";
        }
    }

    /** Polls once. False if it got an error after which an application has to stop. */
    private static boolean poll(KafkaConsumer<byte[], byte[]> consumer) {
        try {
            ConsumerRecords<byte[], byte[]> found = consumer.poll(POLL);
            for (TopicPartition partition : found.partitions()) {
                List<ConsumerRecord<byte[], byte[]>> records = found.records(partition);
                tell("delivered", "partition", partition.toString(),
                        "offset", records.get(0).offset(),
                        "last", records.get(records.size() - 1).offset());
            }
            return true;
        } catch (CommitFailedException failed) {
            tell("commit_failed", "error", name(failed));
            return true;
        } catch (KafkaException failed) {
            boolean goesOn = failed instanceof RetriableException;
            String event = goesOn ? "error" : "fatal";
            tell(event, "error", name(failed), "reason", failed.getMessage());
            return goesOn;
        }
    }

    private static String name(Exception error) {
        return error.getClass().getSimpleName();
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        tell("assigned", "partitions", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        tell("revoked", "partitions", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        tell("lost", "partitions", partitions);
    }

    /** Tells of commits that the library made by itself. */
    public static final class Commits implements ConsumerInterceptor<byte[], byte[]> {
        @Override
        public ConsumerRecords<byte[], byte[]> onConsume(ConsumerRecords<byte[], byte[]> records) {
            return records;
        }

        @Override
        public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            TreeMap<String, Long> told = new TreeMap<>();
            offsets.forEach((partition, offset) -> told.put(partition.toString(), offset.offset()));
            tell("commit", "offsets", told);
        }

        @Override
        public void configure(Map<String, ?> settings) {
            // Nothing to set.
        }

        @Override
        public void close() {
            // Nothing to close.
        }
    }
}
