package groupcheck.museum;

import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.Collectors;

/**
 * Consumers of one release of Kafka's client, through nothing but their public API, which is the
 * same from 0.10 to 3.9. A command a line: "open NAME key=value ...", "subscribe NAME topic ...",
 * "poll NAME ms", "network NAME" (answers are read, but the group is not looked after). Each member
 * has a thread of its own, because old releases wait inside poll. What happens is told a line at a
 * time: "NAME assigned t-0 t-1", "NAME revoked ...", "NAME lost ...", "NAME processed t-0@5 ...",
 * "NAME failed Class: message", and "NAME idle" after each command.
 */
public final class Main {
    private static final Map<String, Main> MEMBERS = new HashMap<>();
    private static final PrintStream OUT =
            new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

    private final String name;
    private final ExecutorService application = Executors.newSingleThreadExecutor();
    private KafkaConsumer<byte[], byte[]> consumer;

    private Main(String name) {
        this.name = name;
    }

    public static void main(String[] arguments) throws IOException {
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            List<String> words = List.of(line.split(" "));
            Main member = MEMBERS.computeIfAbsent(words.get(1), Main::new);
            member.application.submit(() -> member.carryOut(words));
        }
        // The members do not say goodbye: nobody listens any more.
        Runtime.getRuntime().halt(0);
    }

    private void carryOut(List<String> words) {
        try {
            List<String> rest = words.subList(2, words.size());
            switch (words.get(0)) {
                case "open" -> open(rest);
                case "subscribe" -> consumer.subscribe(rest, listener());
                case "poll" -> poll(Long.parseLong(rest.get(0)));
                // Any request that does not concern the group makes the client read its answers.
                case "network" -> consumer.listTopics();
                default -> throw new IllegalArgumentException(words.get(0));
            }
        } catch (Throwable e) {
            Throwable cause = e instanceof InvocationTargetException ? e.getCause() : e;
            tell("failed", cause.toString().replace('\n', ' '));
        }
        tell("idle", "");
    }

    private void open(List<String> settings) {
        Properties properties = new Properties();
        for (String setting : settings) {
            int at = setting.indexOf('=');
            properties.put(setting.substring(0, at), setting.substring(at + 1));
        }
        String bytes = "org.apache.kafka.common.serialization.ByteArrayDeserializer";
        properties.put("key.deserializer", bytes);
        properties.put("value.deserializer", bytes);
        consumer = new KafkaConsumer<>(properties);
    }

    /** poll(Duration) since 2.0; poll(long), which waits until the member has joined, before. */
    private void poll(long ms) throws Exception {
        Object records;
        try {
            Method poll = KafkaConsumer.class.getMethod("poll", Duration.class);
            records = poll.invoke(consumer, Duration.ofMillis(ms));
        } catch (NoSuchMethodException e) {
            records = KafkaConsumer.class.getMethod("poll", long.class).invoke(consumer, ms);
        }
        StringBuilder processed = new StringBuilder();
        ((ConsumerRecords<?, ?>) records).forEach(r -> processed
                .append(r.topic()).append('-').append(r.partition()).append('@').append(r.offset())
                .append(' '));
        if (processed.length() > 0) tell("processed", processed.toString().trim());
    }

    private ConsumerRebalanceListener listener() {
        return new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                tell("revoked", named(partitions));
            }

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                tell("assigned", named(partitions));
            }

            // Since 2.4; no @Override, so that it compiles with older releases too.
            @SuppressWarnings("unused")
            public void onPartitionsLost(Collection<TopicPartition> partitions) {
                tell("lost", named(partitions));
            }
        };
    }

    private static String named(Collection<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::toString).sorted()
                .collect(Collectors.joining(" "));
    }

    private void tell(String what, String more) {
        OUT.println((name + " " + what + " " + more).trim());
    }
}
