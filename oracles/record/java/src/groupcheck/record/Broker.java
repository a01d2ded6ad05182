package groupcheck.record;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import kafka.Kafka;
import kafka.tools.StorageTool;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Apache Kafka's own broker, with an administrator and a producer in the same process, so that a
 * recording needs no other program.
 *
 * <p>Arguments: the properties file, the bootstrap address. Lines in: {@code topic NAME
 * PARTITIONS}, {@code partitions NAME TOTAL}, {@code feed TOPIC}, {@code group NAME} (until its
 * coordinator is there), {@code flush}. Each is answered with one line on stdout, {@code > ok} or
 * {@code > error TEXT}; the first line says that the broker serves. When its input ends, the
 * process ends at once: the process that started it is gone or has finished with it. SIGTERM stops
 * the broker in order.
 */
public final class Broker {
    private static final long PATIENCE_MS = 30_000;
    private static final long PACE_MS = 100;
    private static final PrintStream TELL = System.out;

    private final String address;
    private final Admin admin;
    private final Map<String, Integer> fed = new ConcurrentHashMap<>();

    private Broker(String address) {
        this.address = address;
        this.admin = Admin.create(Map.of(
                "bootstrap.servers", address,
                "client.id", "groupcheck-admin",
                "reconnect.backoff.ms", 20,
                "retry.backoff.ms", 20,
                "reconnect.backoff.max.ms", 100));
    }

    public static void main(String[] arguments) throws Exception {
        String properties = arguments[0];
        String address = arguments[1];
        // What Kafka prints goes to stderr: stdout is for the answers.
        System.setOut(System.err);
        if (!Files.exists(Path.of("data", "meta.properties"))) {
            // kafka-storage.sh format; the id of the cluster is any 16 bytes in base64.
            String[] format = {"format", "-t", "Z3JvdXBjaGVja3JlY29yZA", "-c", properties};
            int code = StorageTool.execute(format, System.err);
            if (code != 0) {
                TELL.println("> error the broker's folder cannot be formatted");
                TELL.flush();
                Runtime.getRuntime().halt(1);
            }
        }
        Thread kafka = new Thread(() -> Kafka.main(new String[] {properties}), "kafka");
        kafka.start();
        Thread talk = new Thread(() -> new Broker(address).serve(), "talk");
        talk.setDaemon(true);
        talk.start();
        kafka.join();
    }

    private void serve() {
        answer(this::ready);
        try (BufferedReader lines = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] words = line.trim().split(" ");
                answer(() -> carryOut(words));
            }
        } catch (IOException gone) {
            // The same as the end of the input.
        }
        Runtime.getRuntime().halt(0);
    }

    private interface Step {
        void run() throws Exception;
    }

    private static void answer(Step step) {
        String said = "> ok";
        try {
            step.run();
        } catch (Exception failed) {
            boolean wrapped = failed instanceof ExecutionException && failed.getCause() != null;
            Throwable cause = wrapped ? failed.getCause() : failed;
            String what = cause.getClass().getSimpleName() + ": " + cause.getMessage();
            said = "> error " + what.replaceAll("\\s+", " ");
        }
        TELL.println(said);
        TELL.flush();
    }

    private void carryOut(String[] words) throws Exception {
        switch (words[0]) {
            case "topic" -> {
                int partitions = Integer.parseInt(words[2]);
                NewTopic topic = new NewTopic(words[1], partitions, (short) 1);
                admin.createTopics(List.of(topic)).all().get(PATIENCE_MS, TimeUnit.MILLISECONDS);
                awaitTopic(words[1], partitions);
            }
            case "partitions" -> {
                int total = Integer.parseInt(words[2]);
                admin.createPartitions(Map.of(words[1], NewPartitions.increaseTo(total)))
                        .all().get(PATIENCE_MS, TimeUnit.MILLISECONDS);
                awaitTopic(words[1], total);
                fed.computeIfPresent(words[1], (name, before) -> total);
            }
            case "feed" -> feed(words[1]);
            case "group" -> awaitCoordinator(words[1]);
            case "flush" -> ready();
            default -> throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    /**
     * Waits until a node answers. Requests that were answered before are in the log then: one
     * network thread serves all connections of the listener, in turn.
     */
    private void ready() throws Exception {
        long until = System.currentTimeMillis() + PATIENCE_MS;
        while (admin.describeCluster().nodes().get(PATIENCE_MS, TimeUnit.MILLISECONDS).isEmpty()) {
            pause(until, "no broker");
        }
    }

    private void awaitTopic(String topic, int partitions) throws Exception {
        long until = System.currentTimeMillis() + PATIENCE_MS;
        while (true) {
            try {
                var known = admin.describeTopics(Set.of(topic)).allTopicNames()
                        .get(PATIENCE_MS, TimeUnit.MILLISECONDS).get(topic).partitions();
                if (known.size() >= partitions && known.stream()
                        .allMatch(p -> p.leader() != null && !p.leader().isEmpty())) {
                    return;
                }
            } catch (ExecutionException notYet) {
                // Created, but this broker has not read it yet.
            }
            pause(until, "the topic has no leader");
        }
    }

    /**
     * The offsets topic is made when somebody first looks for a group's coordinator; a member that
     * comes before the topic is there is told to retry.
     */
    private void awaitCoordinator(String group) throws Exception {
        long until = System.currentTimeMillis() + PATIENCE_MS;
        while (true) {
            try {
                admin.describeConsumerGroups(Set.of(group)).all()
                        .get(PATIENCE_MS, TimeUnit.MILLISECONDS);
                return;
            } catch (ExecutionException failed) {
                if (failed.getCause() instanceof GroupIdNotFoundException) {
                    return;
                }
                pause(until, "the group has no coordinator");
            }
        }
    }

    private static void pause(long until, String otherwise) throws InterruptedException {
        if (System.currentTimeMillis() > until) {
            throw new IllegalStateException(otherwise);
        }
        Thread.sleep(20);
    }

    /** One record for each partition every 100 ms. */
    private void feed(String topic) throws Exception {
        int partitions = admin.describeTopics(Set.of(topic)).allTopicNames()
                .get(PATIENCE_MS, TimeUnit.MILLISECONDS).get(topic).partitions().size();
        boolean first = fed.isEmpty();
        fed.put(topic, partitions);
        if (first) {
            Thread feeder = new Thread(this::produce, "feed");
            feeder.setDaemon(true);
            feeder.start();
        }
    }

    private void produce() {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", address,
                "client.id", "groupcheck-feed",
                "linger.ms", 5,
                "max.block.ms", 1000,
                "metadata.max.age.ms", 500);
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (long count = 0; ; count++) {
                byte[] value = Long.toString(count).getBytes(StandardCharsets.UTF_8);
                fed.forEach((topic, partitions) -> {
                    for (int p = 0; p < partitions; p++) {
                        producer.send(new ProducerRecord<>(topic, p, null, value));
                    }
                });
                Thread.sleep(PACE_MS);
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }
}
