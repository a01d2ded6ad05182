package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.kafka.clients.GroupRebalanceConfig;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.AutoOffsetResetStrategy;
import org.apache.kafka.clients.consumer.internals.ConsumerCoordinator;
import org.apache.kafka.clients.consumer.internals.ConsumerInterceptors;
import org.apache.kafka.clients.consumer.internals.ConsumerMetadata;
import org.apache.kafka.clients.consumer.internals.ConsumerNetworkClient;
import org.apache.kafka.clients.consumer.internals.SubscriptionState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.utils.LogContext;

import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/**
 * A member of a classic group: Kafka's own ConsumerCoordinator over ConsumerNetworkClient, with the
 * loop of its own heartbeat thread, all in the caller's thread. Clock and network are put in place
 * of the real ones; metadata is always at hand. Back-offs have no jitter.
 */
final class Member {
    static final int REQUEST_TIMEOUT_MS = 30_000;
    private static final LogContext LOG = new LogContext();

    final MemberClock clock = new MemberClock();
    final SubscriptionState subscriptions =
            new SubscriptionState(LOG, AutoOffsetResetStrategy.EARLIEST);
    final ConsumerMetadata metadata;
    final MemberNetwork network;
    final ConsumerNetworkClient client;
    final ConsumerCoordinator coordinator;
    /** What happened to the application since the last look: callbacks, commits. */
    ArrayNode calls = Json.MAKE.arrayNode();
    private final GroupRebalanceConfig hurried;
    private final TreeMap<String, Integer> topics = new TreeMap<>();
    private final Listening listening;
    private boolean closed;

    /** What the application does in a rebalance callback, and while the member waits. */
    interface Listening {
        void during(String callback);

        void waiting();
    }

    /**
     * Options, all of them optional: sessionMs, rebalanceMs, heartbeatMs, backoffMs, backoffMaxMs,
     * autoCommit, autoCommitMs, assignors, instance, group, rack, topics {name: partitions}, now;
     * subscribed (topics) or pattern in place of a subscription to all topics.
     */
    Member(JsonNode options, Listening listening) throws Exception {
        this.listening = listening;
        clock.now = options.path("now").asLong(1_000_000);
        if (options.has("topics")) setTopics(options.get("topics"));
        else topics.put("t", 2);
        long backoff = options.path("backoffMs").asLong(100);
        long backoffMax = options.path("backoffMaxMs").asLong(1000);
        metadata = new ConsumerMetadata(
                1, 1, Long.MAX_VALUE, false, false, subscriptions, LOG,
                new ClusterResourceListeners());
        metadata.bootstrap(List.of(new InetSocketAddress("localhost", 9092)));
        network = new MemberNetwork(clock, this::refreshMetadata, listening::waiting);
        client = new ConsumerNetworkClient(
                LOG, network, metadata, clock, backoff, REQUEST_TIMEOUT_MS, Integer.MAX_VALUE);
        String pattern = Json.text(options, "pattern", null);
        if (pattern == null)
            subscribe(options.has("subscribed")
                    ? Json.texts(options.get("subscribed")) : topics.keySet());
        else
            subscribe(Pattern.compile(pattern));
        metadata.updateWithCurrentRequestVersion(topicsMetadata(), false, clock.now);
        hurried = config(options, -1, backoffMax);
        coordinator = MemberVersions.make(ConsumerCoordinator.class,
                config(options, backoff, backoffMax), LOG, client,
                assignors(options.path("assignors")), metadata, subscriptions,
                new Metrics(), "consumer", clock,
                options.path("autoCommit").asBoolean(true),
                options.path("autoCommitMs").asInt(5000),
                MemberVersions.make(ConsumerInterceptors.class, List.of(new Commits())));
        for (Object of : List.of(coordinator, Reflect.field(coordinator, "heartbeat")))
            Reflect.set(Reflect.field(of, "retryBackoff"), "jitter", 0.0);
        keepThread();
    }

    private static GroupRebalanceConfig config(JsonNode options, long backoff, long backoffMax)
            throws Exception {
        return MemberVersions.config(
                options.path("sessionMs").asInt(10_000), options.path("rebalanceMs").asInt(300_000),
                options.path("heartbeatMs").asInt(3000), Json.text(options, "group", "g"),
                Optional.ofNullable(Json.text(options, "instance", null)), backoff, backoffMax);
    }

    private static List<ConsumerPartitionAssignor> assignors(JsonNode names) {
        if (names.isMissingNode()) return List.of(new RangeAssignor());
        List<ConsumerPartitionAssignor> assignors = new ArrayList<>();
        names.forEach(name -> assignors.add(switch (name.asText()) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            case "cooperative-sticky" -> new CooperativeStickyAssignor();
            case "own-cooperative" -> new CooperativeSticky();
            case "cooperative-range" -> new CooperativeRange();
            default -> throw new Refused("no assignor " + name.asText());
        }));
        return assignors;
    }

    void subscribe(Collection<String> names) {
        subscriptions.subscribe(new TreeSet<>(names), Optional.of(heard()));
        metadata.requestUpdateForNewTopics();
    }

    private void subscribe(Pattern pattern) {
        subscriptions.subscribe(pattern, Optional.of(heard()));
        metadata.requestUpdateForNewTopics();
    }

    private ConsumerRebalanceListener heard() {
        return new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                called("revoked", partitions);
            }

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                called("assigned", partitions);
            }

            @Override
            public void onPartitionsLost(Collection<TopicPartition> partitions) {
                called("lost", partitions);
            }
        };
    }

    private void called(String callback, Collection<TopicPartition> partitions) {
        calls.addObject().put("call", callback).set("partitions", Json.json(partitions));
        listening.during(callback);
    }

    /** Notes every commit that the coordinator has accepted. */
    private final class Commits implements ConsumerInterceptor<Object, Object> {
        @Override
        public ConsumerRecords<Object, Object> onConsume(ConsumerRecords<Object, Object> records) {
            return records;
        }

        @Override
        public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            calls.addObject().put("call", "committed").set("offsets", MemberLook.offsets(offsets));
        }

        @Override
        public void close() { }

        @Override
        public void configure(Map<String, ?> options) { }
    }

    void setTopics(JsonNode wanted) {
        topics.clear();
        wanted.properties().forEach(e -> topics.put(e.getKey(), e.getValue().asInt()));
        if (metadata != null) metadata.requestUpdate(true);
    }

    private void refreshMetadata() {
        if (metadata.updateRequested())
            metadata.updateWithCurrentRequestVersion(topicsMetadata(), false, clock.now);
    }

    private MetadataResponse topicsMetadata() {
        List<MetadataResponseTopic> found = new ArrayList<>();
        topics.forEach((name, count) -> {
            MetadataResponseTopic topic = new MetadataResponseTopic().setName(name)
                    .setTopicId(new Uuid(1, 1 + name.hashCode()));
            for (int p = 0; p < count; p++)
                topic.partitions().add(new MetadataResponsePartition().setPartitionIndex(p)
                        .setLeaderId(0).setReplicaNodes(List.of(0)).setIsrNodes(List.of(0)));
            found.add(topic);
        });
        return MetadataResponse.prepareResponse(ApiKeys.METADATA.latestVersion(), 0,
                List.of(MemberNetwork.BROKER), "cluster", 0, found, Integer.MIN_VALUE);
    }

    /**
     * An unstarted heartbeat thread always stands ready: without one the member would start its
     * own.
     */
    void keepThread() throws ReflectiveOperationException {
        if (!closed && MemberVersions.thread(coordinator) == null) {
            MemberVersions.giveThread(coordinator);
        }
    }

    void close(long timeoutMs, String operation) throws Exception {
        closed = true;
        MemberVersions.close(coordinator, clock.timer(timeoutMs), operation);
    }

    /**
     * One round of the heartbeat thread's own loop. Its first look at the clock closes the thread,
     * so the loop ends after the round. A round that would then wait gets a negative time to wait:
     * Object.wait refuses it at once, which ends the loop too and is forgotten.
     */
    void heartbeatRound() throws Exception {
        Object thread = MemberVersions.thread(coordinator);
        if (thread == null || MemberVersions.closed(thread) || !MemberVersions.enabled(thread)) {
            return;
        }
        String state = Reflect.field(coordinator, "state").toString();
        boolean joined = state.equals("STABLE") || state.equals("COMPLETING_REBALANCE");
        if (!joined || MemberVersions.failure(thread).get() != null) {
            Reflect.call(thread, "disable");     // the loop would then wait to be enabled
            return;
        }
        Object config = MemberVersions.swapConfig(coordinator, hurried);
        clock.atNextLook(() -> MemberVersions.setClosed(thread, true));
        try {
            ((Thread) thread).run();
        } finally {
            MemberVersions.swapConfig(coordinator, config);
        }
        RuntimeException failure = MemberVersions.failure(thread).get();
        if (failure != null && failure.getStackTrace()[0].getClassName().equals("java.lang.Object"))
            MemberVersions.failure(thread).set(null);
        if (MemberVersions.failure(thread).get() == null) MemberVersions.setClosed(thread, false);
    }
}
