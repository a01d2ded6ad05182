package groupcheck.kafka;

import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEventProcessor;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorPlayback;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntimeMetrics;
import org.apache.kafka.coordinator.common.runtime.CoordinatorShardBuilderSupplier;
import org.apache.kafka.coordinator.common.runtime.PartitionWriter;
import org.apache.kafka.coordinator.group.Group;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.VerificationGuard;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One broker's group coordinator: Kafka's own service, runtime and shard, with clock, queue, log
 * and loader put in place of the real ones.
 */
final class Broker {
    private static final LogConfig LOG_CONFIG = new LogConfig(Map.of());
    private static final BufferSupplier BUFFERS = new BufferSupplier.GrowableBufferSupplier();

    final GroupCoordinatorService service;
    final Clock.Timers timers;
    private final Object runtime;
    private final World world;
    private PartitionWriter.Listener listener;
    private Runnable heldLoad;
    private boolean hold;
    private long loadBelow = Long.MAX_VALUE;
    private int epoch;

    /** Broker options, parsed once for many brokers. */
    record Options(GroupCoordinatorConfig config, GroupConfigManager groups) {
        static Options of(Map<String, String> given) throws Exception {
            AbstractConfig all = Versions.brokerConfig(given);
            GroupCoordinatorConfig config = new GroupCoordinatorConfig(all);
            return new Options(config, Versions.groupConfigs(config, all));
        }
    }

    Broker(World world, Options options) throws Exception {
        this(world, options, 1);
    }

    /** `partitions`: how many __consumer_offsets has. Only the first one has a log. */
    Broker(World world, Options options, int partitions) throws Exception {
        this.world = world;
        timers = world.clock.newTimers();
        GroupCoordinatorConfig config = options.config;
        GroupConfigManager groups = options.groups;
        CoordinatorShardBuilderSupplier<GroupCoordinatorShard, CoordinatorRecord> shards =
                () -> Versions.shard(config, groups);
        Map<String, Object> parts = new HashMap<>();
        parts.put("withTime", world.clock.time());
        parts.put("withTimer", timers);
        parts.put("withEventProcessor",
                Reflect.proxy(CoordinatorEventProcessor.class, this::process));
        parts.put("withPartitionWriter", Reflect.proxy(PartitionWriter.class, this::write));
        parts.put("withLoader", Reflect.proxy(CoordinatorLoader.class, this::load));
        parts.put("withCoordinatorShardBuilderSupplier", shards);
        parts.put("withCoordinatorRuntimeMetrics",
                Reflect.proxy(CoordinatorRuntimeMetrics.class, (method, arguments) -> null));
        parts.put("withSerializer", OffsetsLog.SERDE);
        parts.put("withExecutorService", world.clock.new Background());
        runtime = Versions.runtime(parts, Duration.ofMillis(config.offsetCommitTimeoutMs()));
        service = Versions.service(config, runtime, groups, timers);
        service.startup(() -> partitions);
    }

    private Object process(String method, Object[] arguments) {
        if (arguments != null) {
            world.clock.enqueue((CoordinatorEvent) arguments[0], method.equals("enqueueFirst"));
        }
        return null;
    }

    private Object write(String method, Object[] arguments) throws Exception {
        switch (method) {
            case "registerListener" -> listener = (PartitionWriter.Listener) arguments[1];
            case "deregisterListener" -> listener = null;
            case "config" -> {
                return LOG_CONFIG;
            }
            case "maybeStartTransactionVerification" -> {
                return CompletableFuture.completedFuture(VerificationGuard.SENTINEL);
            }
            case "append" -> {
                if (world.leader() != this) throw Errors.NOT_LEADER_OR_FOLLOWER.exception();
                return world.append(arguments[2]);
            }
            default -> throw new UnsupportedOperationException("PartitionWriter." + method);
        }
        return null;
    }

    @SuppressWarnings("unchecked")
    private Object load(String method, Object[] arguments) {
        if (!method.equals("load")) return null;
        CompletableFuture<CoordinatorLoader.LoadSummary> loaded = new CompletableFuture<>();
        heldLoad = () -> {
            heldLoad = null;
            try {
                world.log.replay((CoordinatorPlayback<CoordinatorRecord>) arguments[1], loadBelow);
                loaded.complete(Versions.loadSummary());
            } catch (Throwable t) {
                loaded.completeExceptionally(t);
            }
        };
        if (!hold) heldLoad.run();
        return loaded;
    }

    /** Elected for the partition in a later epoch: loads it, unless the load is to be held back. */
    void elect(boolean holdLoad, int newEpoch) {
        hold = holdLoad;
        epoch = newEpoch;
        service.onElection(World.PARTITION.partition(), epoch);
        // Otherwise every fresh coordinator clears half a megabyte for its batches.
        Reflect.set(context(), "bufferSupplier", BUFFERS);
    }

    /**
     * The first thing that a broker's shutdown does to its coordinator: it serves nothing any more.
     */
    void shutDown() {
        ((AtomicBoolean) Reflect.field(service, "isActive")).set(false);
    }

    void resign() {
        service.onResignation(World.PARTITION.partition(), OptionalInt.of(++epoch));
    }

    /** Loads only what lies below this offset. */
    Broker limitedTo(long offset) {
        loadBelow = offset;
        return this;
    }

    int epoch() {
        return epoch;
    }

    void finishLoad() {
        if (heldLoad == null) throw new Refused("no load is held back");
        heldLoad.run();
    }

    void highWatermarkIs(long offset) {
        if (listener != null) listener.onHighWatermarkUpdated(World.PARTITION, offset);
    }

    /** ACTIVE, LOADING, FAILED, or ABSENT where this broker does not coordinate the partition. */
    String state() {
        Object context = context();
        return context == null ? "ABSENT" : Reflect.field(context, "state").toString();
    }

    /**
     * The groups in memory, also of a broker that is loading; none where it coordinates
     * nothing.
     */
    @SuppressWarnings("unchecked")
    Map<String, Group> groups() {
        Object context = context();
        Object snapshottable = context == null ? null : Reflect.field(context, "coordinator");
        if (snapshottable == null) return Map.of();
        Object shard = Reflect.field(snapshottable, "coordinator");
        return (Map<String, Group>) Reflect.field(
                Reflect.field(shard, "groupMetadataManager"), "groups");
    }

    private Object context() {
        return ((Map<?, ?>) Reflect.field(runtime, "coordinators")).get(World.PARTITION);
    }

    /**
     * Every armed timer under its key: the coordinator's own, and the time-outs of appends that
     * wait for replication.
     */
    @SuppressWarnings("unchecked")
    Map<String, Clock.Due> armed() {
        Map<TimerTask, Clock.Due> due = new HashMap<>();
        Map<String, Clock.Due> byKey = new TreeMap<>();
        for (Clock.Due d : timers.live()) {
            if (d.append() != null) byKey.put(d.append(), d);
            else due.put(d.task(), d);
        }
        Object context = context();
        if (context != null) {
            var tasks = (Map<String, TimerTask>) Reflect.field(
                    Reflect.field(context, "timer"), "tasks");
            tasks.forEach((key, task) -> {
                if (due.containsKey(task)) byKey.put(world.names.inKey(key), due.get(task));
            });
        }
        return byKey;
    }
}
