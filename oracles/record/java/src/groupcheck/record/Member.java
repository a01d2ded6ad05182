package groupcheck.record;

import static groupcheck.record.Events.fields;
import static groupcheck.record.Events.tell;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * One Java consumer that tells what it sees. Arguments: topic, commit interval in ms, whether to
 * commit in the revoked callback, how long that callback takes in ms, then NAME=VALUE consumer
 * properties. Lines in: {@code stop}, {@code sleep MS}, {@code twin} (a second consumer with the
 * same properties begins in this process). When the input ends, the process ends at once: the
 * process that started it is gone.
 */
public final class Member implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(50);
    private static final Duration COMMIT = Duration.ofSeconds(5);

    private final Properties properties;
    private final String topic;
    private final KafkaConsumer<byte[], byte[]> consumer;
    private KafkaConsumer<byte[], byte[]> twin;
    private final long commitMs;
    private final boolean commitOnRevoke;
    private final long revokeMs;
    private final TreeSet<String> own = new TreeSet<>();
    private final TreeMap<String, Long> position = new TreeMap<>();
    /**
     * By partition: first offset, last offset, first time and last time of an unbroken run of
     * records.
     */
    private final TreeMap<String, long[]> runs = new TreeMap<>();
    private final BlockingQueue<String> commands = new LinkedBlockingQueue<>();

    private Member(String[] arguments) {
        this.topic = arguments[0];
        this.commitMs = Long.parseLong(arguments[1]);
        this.commitOnRevoke = Boolean.parseBoolean(arguments[2]);
        this.revokeMs = Long.parseLong(arguments[3]);
        this.properties = new Properties();
        for (int i = 4; i < arguments.length; i++) {
            String[] pair = arguments[i].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        this.consumer = made();
    }

    private KafkaConsumer<byte[], byte[]> made() {
        return new KafkaConsumer<>(
                properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    public static void main(String[] arguments) throws Exception {
        Member member = new Member(arguments);
        member.listen();
        member.subscribe(member.consumer, member);
        tell("subscribed", fields("topics", List.of(member.topic)));
        tell("started", fields("version", "java"));
        member.live();
    }

    /** A topic that begins with ^ is a regular expression: RE2J's with KIP-848, else Java's own. */
    private void subscribe(
            KafkaConsumer<byte[], byte[]> one, ConsumerRebalanceListener listener) {
        if (!topic.startsWith("^")) {
            one.subscribe(List.of(topic), listener);
        } else if ("consumer".equals(properties.get("group.protocol"))) {
            one.subscribe(new SubscriptionPattern(topic), listener);
        } else {
            one.subscribe(Pattern.compile(topic), listener);
        }
    }

    private void listen() {
        Thread reader = new Thread(() -> {
            try (BufferedReader lines = new BufferedReader(
                    new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                lines.lines().forEach(commands::add);
            } catch (IOException gone) {
                // As the end.
            }
            Runtime.getRuntime().halt(1);
        });
        reader.setDaemon(true);
        reader.start();
    }

    private void live() throws InterruptedException {
        long committed = System.currentTimeMillis();
        while (true) {
            String command = commands.poll();
            if (command != null) {
                tell("command", fields("do", command));
                if (command.equals("stop")) {
                    break;
                }
                if (command.startsWith("sleep ")) {
                    Thread.sleep(Long.parseLong(command.substring("sleep ".length())));
                    tell("woke", fields());
                }
                if (command.equals("twin")) {
                    twin = made();
                    subscribe(twin, new Twin());
                }
            }
            poll(consumer);
            if (twin != null) {
                poll(twin);
            }
            if (System.currentTimeMillis() - committed > commitMs) {
                committed = System.currentTimeMillis();
                commit("periodic", position.keySet());
                flush();
            }
        }
        close(consumer);
        if (twin != null) {
            close(twin);
        }
        flush();
        own.clear();
        tell("closed", fields("own", own));
    }

    private static void close(KafkaConsumer<byte[], byte[]> one) {
        try {
            one.close();
        } catch (KafkaException failed) {
            tell("close_error", fields(
                    "error", failed.getClass().getSimpleName(), "text", failed.getMessage()));
        }
    }

    private void poll(KafkaConsumer<byte[], byte[]> one) throws InterruptedException {
        try {
            for (ConsumerRecord<byte[], byte[]> found : one.poll(POLL)) {
                if (one == consumer) {
                    seen(
                            new TopicPartition(found.topic(), found.partition()).toString(),
                            found.offset());
                }
            }
        } catch (KafkaException failed) {
            tell("poll_error", fields(
                    "error", failed.getClass().getSimpleName(), "text", failed.getMessage()));
            Thread.sleep(200);
        }
    }

    private void seen(String partition, long offset) {
        long now = System.currentTimeMillis();
        long[] run = runs.get(partition);
        if (run != null && run[1] + 1 == offset) {
            run[1] = offset;
            run[3] = now;
        } else {
            if (run != null) {
                flush();
            }
            runs.put(partition, new long[] {offset, offset, now, now});
        }
        position.put(partition, offset + 1);
    }

    private void flush() {
        if (!runs.isEmpty()) {
            tell("consumed", fields("runs", new TreeMap<>(runs)));
            runs.clear();
        }
    }

    private void commit(String why, Collection<String> partitions) {
        TreeMap<String, Long> offsets = new TreeMap<>(position);
        offsets.keySet().retainAll(new ArrayList<>(partitions));
        if (offsets.isEmpty()) {
            return;
        }
        Map<TopicPartition, OffsetAndMetadata> sent = new HashMap<>();
        offsets.forEach((name, offset) -> {
            int dash = name.lastIndexOf('-');
            int partition = Integer.parseInt(name.substring(dash + 1));
            sent.put(
                    new TopicPartition(name.substring(0, dash), partition),
                    new OffsetAndMetadata(offset));
        });
        Map<String, Object> told = fields(
                "why", why, "sent", System.currentTimeMillis(), "offsets", offsets);
        try {
            consumer.commitSync(sent, COMMIT);
            tell("commit_ok", told);
        } catch (KafkaException failed) {
            told.put("error", failed.getClass().getSimpleName());
            told.put("text", failed.getMessage());
            tell("commit_rejected", told);
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        own.addAll(names(partitions));
        tell("assigned", fields("parts", names(partitions), "own", own));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        gone("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        gone("lost", partitions);
    }

    private void gone(String how, Collection<TopicPartition> partitions) {
        List<String> names = names(partitions);
        tell(how + "_begin", fields("parts", names));
        if (how.equals("revoked") && commitOnRevoke) {
            commit("on_revoke", names);
        }
        if (how.equals("revoked") && revokeMs > 0) {
            pause(revokeMs);
        }
        flush();
        names.forEach(own::remove);
        names.forEach(position::remove);
        tell(how, fields("parts", names, "own", own));
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    /** What the second consumer is told. The process's own events do not count it. */
    private static final class Twin implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("twin_assigned", fields("parts", names(partitions)));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            tell("twin_revoked", fields("parts", names(partitions)));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            tell("twin_lost", fields("parts", names(partitions)));
        }
    }

    private static List<String> names(Collection<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::toString).sorted().toList();
    }
}
