package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.coordinator.group.Group;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * A cluster as far as one partition of __consumer_offsets needs it: brokers (the last one leads),
 * the log, topics, time, names.
 */
final class World {
    static final TopicPartition PARTITION = new TopicPartition("__consumer_offsets", 0);
    private static final Map<String, Broker.Options> CONFIGS = new HashMap<>();

    final Clock clock = new Clock();
    final OffsetsLog log = new OffsetsLog();
    final Topics topics = new Topics();
    final Names names = new Names();
    private final List<Broker> brokers = new ArrayList<>();
    private Broker leader;
    private Broker.Options options;
    private boolean autoCommit;

    /** Forgets everything; a new broker leads an empty log. */
    void reset(JsonNode setup) throws Exception {
        SeededRandom.seed(setup.path("seed").asLong(0));
        // Above 0: 4.3.0 takes an assignment at time 0 for one that was never made.
        clock.reset(setup.path("now").asLong(1_000_000));
        brokers.clear();
        leader = null;
        log.clear();
        topics.clear();
        names.clear();
        autoCommit = setup.path("autoCommit").asBoolean(true);
        options = options(setup.get("config"));
        start(false, false);
        setTopics(setup.has("topics") ? setup.get("topics") : Json.MAKE.objectNode().put("t", 2));
    }

    private static Broker.Options options(JsonNode given) throws Exception {
        String key = given == null ? "" : given.toString();
        Broker.Options options = CONFIGS.get(key);
        if (options == null) {
            Map<String, String> all = new HashMap<>(Map.of(
                    "group.max.session.timeout.ms", "1800000",
                    "group.min.session.timeout.ms", "1"));
            if (given != null) {
                given.properties().forEach(e -> all.put(e.getKey(), e.getValue().asText()));
            }
            options = Broker.Options.of(all);
            CONFIGS.put(key, options);
        }
        return options;
    }

    Broker leader() {
        return leader;
    }

    Broker broker(JsonNode command) {
        if (!command.has("broker")) return leader;
        int number = command.get("broker").asInt();
        if (number < 0 || number >= brokers.size()) {
            throw new Refused("there is no broker " + number);
        }
        return brokers.get(number);
    }

    private void start(boolean zombie, boolean hold) throws Exception {
        int epoch = leader == null ? 1 : leader.epoch() + 1;
        if (!zombie) {
            brokers.forEach(gone -> clock.forget(gone.timers));
            brokers.clear();
        }
        leader = new Broker(this, options);
        brokers.add(leader);
        if (!topics.sizes().isEmpty()) {
            publish(leader, new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build());
        }
        leader.elect(hold, epoch);
        clock.drain();
    }

    /**
     * Another broker takes over with the records that it has: "committed" (below the high
     * watermark), "all", or a number of records. A zombie goes on believing that it leads; it is
     * reached as broker 0, 1, ... and its appends fail.
     */
    void failOver(JsonNode command) throws Exception {
        log.truncate(kept(command));
        if (command.has("config")) options = options(command.get("config"));
        start(command.path("zombie").asBoolean(false), command.path("hold").asBoolean(false));
        if (autoCommit) commit(log.end());
    }

    private long kept(JsonNode command) {
        String keep = Json.text(command, "keep", "committed");
        try {
            return keep.equals("all") ? log.end()
                    : keep.equals("committed") ? log.highWatermark() : Long.parseLong(keep);
        } catch (NumberFormatException e) {
            throw new Refused("keep is committed, all or a number of records, not " + keep);
        }
    }

    /**
     * A broker beside the others that has loaded what a fail-over now would keep. It takes part in
     * nothing.
     */
    Broker shadow(JsonNode command) throws Exception {
        Broker shadow = new Broker(this, options).limitedTo(kept(command));
        if (!topics.sizes().isEmpty()) {
            publish(shadow, new MetadataDelta.Builder().setImage(MetadataImage.EMPTY).build());
        }
        shadow.elect(false, leader.epoch() + 1);
        clock.drain();
        clock.forget(shadow.timers);
        return shadow;
    }

    long append(Object records) throws Exception {
        long end = log.append(records);
        if (autoCommit) commit(end);
        return end;
    }

    void commit(long to) {
        if (log.commit(to)) leader.highWatermarkIs(log.highWatermark());
    }

    void autoCommit(boolean on) {
        autoCommit = on;
        if (on) commit(log.end());
    }

    void setTopics(JsonNode wanted) throws Exception {
        MetadataDelta delta = topics.become(wanted, clock.now());
        for (Broker broker : brokers) publish(broker, delta);
    }

    private void publish(Broker to, MetadataDelta delta) throws Exception {
        if (delta.topicsDelta() == null || delta.topicsDelta().deletedTopicIds().isEmpty()) {
            Versions.publish(to.service, delta, topics.image());
            return;
        }
        // On the deletion of a topic the service blocks until the tombstones of its offsets are
        // committed, so it needs a thread of its own here.
        boolean before = autoCommit;
        autoCommit = true;
        Throwable[] failed = new Throwable[1];
        Thread publishing = new Thread(() -> {
            try {
                Versions.publish(to.service, delta, topics.image());
            } catch (Throwable t) {
                failed[0] = t;
            }
        });
        publishing.start();
        while (publishing.isAlive()) {
            clock.drain();
            commit(log.end());
            Thread.onSpinWait();
        }
        autoCommit = before;
        if (failed[0] != null) throw new IllegalStateException(failed[0]);
    }

    /** Gives names to ids that a broker made but has not told anybody yet. */
    void nameNewIds(Broker of) {
        TreeSet<String> fresh = new TreeSet<>();
        for (Group group : of.groups().values()) {
            if (group instanceof ClassicGroup classic) {
                fresh.addAll(classic.allMemberIds());
                fresh.addAll(Memory.pendingJoin(classic));
            } else if (group instanceof ConsumerGroup consumer) {
                fresh.addAll(consumer.members().keySet());
            }
        }
        fresh.removeIf(names::known);
        fresh.forEach(names::shown);
    }
}
