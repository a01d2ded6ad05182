package groupcheck.kafka;

import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseGroup;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.TransactionResult;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.coordinator.common.runtime.CoordinatorLoader;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime;
import org.apache.kafka.coordinator.group.GroupConfigManager;
import org.apache.kafka.coordinator.group.GroupCoordinatorConfig;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;
import org.apache.kafka.coordinator.group.GroupCoordinatorShard;
import org.apache.kafka.coordinator.group.metrics.GroupCoordinatorMetrics;
import org.apache.kafka.coordinator.group.modern.share.ShareGroupConfig;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.TopicImage;
import org.apache.kafka.server.common.ApiMessageAndVersion;
import org.apache.kafka.server.util.timer.Timer;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;

/**
 * Everything that differs between Kafka 4.0.0, 4.1.1, 4.2.0 and 4.3.0; no other file knows a version. The same source compiles against all
 * four because what was renamed, moved or given another parameter is reached by name here.
 */
final class Versions {
    private static final LogContext LOG = new LogContext();
    private static final GroupCoordinatorMetrics METRICS = new GroupCoordinatorMetrics();

    private Versions() { }

    /** 4.0: several ConfigDefs by kind of group; from 4.1: one. All keys of all of them. */
    static AbstractConfig brokerConfig(Map<String, String> options) throws IllegalAccessException {
        ConfigDef all = new ConfigDef();
        for (Class<?> c : List.of(GroupCoordinatorConfig.class, ShareGroupConfig.class))
            for (Field field : c.getDeclaredFields())
                if (field.getType() == ConfigDef.class && Modifier.isStatic(field.getModifiers()))
                    for (ConfigDef.ConfigKey key : ((ConfigDef) field.get(null)).configKeys().values())
                        if (!all.configKeys().containsKey(key.name)) all.define(key);
        for (String option : options.keySet())
            if (!all.configKeys().containsKey(option)) throw new Refused("this version has no broker option " + option);
        return new AbstractConfig(all, options, false);
    }

    /** Up to 4.2 the manager takes the options alone; from 4.3 also the coordinator's and the share groups' configurations. */
    static GroupConfigManager groupConfigs(GroupCoordinatorConfig config, AbstractConfig options) throws Exception {
        return (GroupConfigManager) Reflect.make(GroupConfigManager.class, new HashMap<>(), config, new ShareGroupConfig(options));
    }

    /** 4.0: withAuthorizer; from 4.1: withAuthorizerPlugin. */
    static GroupCoordinatorShard.Builder shard(GroupCoordinatorConfig config, GroupConfigManager groups) {
        GroupCoordinatorShard.Builder builder = new GroupCoordinatorShard.Builder(config, groups);
        try {
            String authorizer = Reflect.has(GroupCoordinatorShard.Builder.class, "withAuthorizer") ? "withAuthorizer" : "withAuthorizerPlugin";
            Reflect.call(builder, authorizer, Optional.empty());
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        return builder;
    }

    /** Sets on the runtime's builder what this version of it knows: the write time-out and the linger changed their spelling, 4.3 added a buffer. */
    static Object runtime(Map<String, Object> parts, Duration writeTimeout) throws Exception {
        Object builder = new CoordinatorRuntime.Builder<>();
        Map<String, Object> with = new HashMap<>(parts);
        with.put("withLogContext", LOG);
        with.put("withLogPrefix", "");
        with.put("withCoordinatorMetrics", METRICS);
        with.put("withWriteTimeout", writeTimeout);
        with.put("withDefaultWriteTimeOut", writeTimeout);
        with.put("withCachedBufferMaxBytesSupplier", (java.util.function.Supplier<Integer>) () -> 1 << 20);
        for (Method method : builder.getClass().getMethods()) {
            if (method.getName().equals("withAppendLingerMs"))     // 4.0, 4.1: int; from 4.2: OptionalInt
                method.invoke(builder, method.getParameterTypes()[0] == int.class ? (Object) 0 : OptionalInt.of(0));
            else if (with.containsKey(method.getName())) method.invoke(builder, with.get(method.getName()));
        }
        return Reflect.call(builder, "build");
    }

    /** The last parameters (persister, partition metadata client) are for share groups; each version has others. */
    static GroupCoordinatorService service(GroupCoordinatorConfig config, Object runtime, GroupConfigManager groups, Timer timer) throws Exception {
        return (GroupCoordinatorService) Reflect.make(GroupCoordinatorService.class, LOG, config, runtime, METRICS, groups, timer);
    }

    /** Four to six numbers: times and counts of a load. */
    static CoordinatorLoader.LoadSummary loadSummary() throws Exception {
        return (CoordinatorLoader.LoadSummary) Reflect.make(CoordinatorLoader.LoadSummary.class);
    }

    /**
     * 4.0, 4.1: (image, delta); 4.2: the same wrapped into Coordinator...; 4.3: onMetadataUpdate(delta, image), which handles deletions too.
     * Before, the broker's metadata publisher told of deleted partitions first, in a call of its own.
     */
    static void publish(GroupCoordinatorService service, MetadataDelta delta, MetadataImage image) throws Exception {
        Class<?> c = GroupCoordinatorService.class;
        List<TopicPartition> deleted = deletedPartitions(delta);
        if (!deleted.isEmpty() && Reflect.has(c, "onPartitionsDeleted"))
            Reflect.call(service, "onPartitionsDeleted", deleted, BufferSupplier.NO_CACHING);
        Method method = Reflect.method(c, Reflect.has(c, "onMetadataUpdate") ? "onMetadataUpdate" : "onNewMetadataImage");
        Object[] arguments = new Object[2];
        for (int k = 0; k < 2; k++) {
            String type = method.getParameterTypes()[k].getSimpleName();
            Object value = type.endsWith("Delta") ? delta : image;
            arguments[k] = type.startsWith("Coordinator")
                ? Class.forName("org.apache.kafka.coordinator.common.runtime.KRaft" + type).getConstructors()[0].newInstance(value) : value;
        }
        method.invoke(service, arguments);
    }

    private static List<TopicPartition> deletedPartitions(MetadataDelta delta) {
        List<TopicPartition> deleted = new ArrayList<>();
        if (delta.topicsDelta() == null) return deleted;
        for (Uuid id : delta.topicsDelta().deletedTopicIds()) {
            TopicImage topic = delta.image().topics().getTopic(id);
            topic.partitions().keySet().forEach(p -> deleted.add(new TopicPartition(topic.name(), p)));
        }
        return deleted;
    }

    /** The marker of a transaction's end. 4.0, 4.1: (.., result, timeout); 4.2: (.., result, version, timeout); 4.3: (.., result, version). */
    @SuppressWarnings("unchecked")
    static CompletableFuture<Void> completeTransaction(GroupCoordinatorService service, TopicPartition partition, long producer, TransactionResult result)
            throws Exception {
        Method method = Reflect.method(GroupCoordinatorService.class, "completeTransaction");
        List<Object> arguments = new ArrayList<>(List.of(partition, producer, (short) 0, 0, result));
        for (Class<?> type : List.of(method.getParameterTypes()).subList(arguments.size(), method.getParameterCount()))
            arguments.add(type == Duration.class ? Duration.ofSeconds(5) : (Object) (short) 1);
        return (CompletableFuture<Void>) method.invoke(service, arguments.toArray());
    }

    /** Up to 4.2 the fetch of all offsets of a group is a method of its own. */
    @SuppressWarnings("unchecked")
    static CompletableFuture<OffsetFetchResponseGroup> fetchOffsets(GroupCoordinatorService service, RequestContext context, OffsetFetchRequestGroup asked,
                                                                    boolean stable) throws Exception {
        String method = asked.topics() == null && Reflect.has(GroupCoordinatorService.class, "fetchAllOffsets") ? "fetchAllOffsets" : "fetchOffsets";
        return (CompletableFuture<OffsetFetchResponseGroup>) Reflect.call(service, method, context, asked, stable);
    }

    /** Commit and fetch requests carry topic ids only from 4.1 on. */
    static void setTopicId(Object topic, Uuid id) throws Exception {
        if (Reflect.has(topic.getClass(), "setTopicId")) Reflect.call(topic, "setTopicId", id);
    }

    /** A member's partitions of one topic: up to 4.2 a set of numbers, from 4.3 a map from number to the epoch of its assignment. */
    static TreeSet<Integer> partitionNumbers(Object ofTopic) {
        TreeSet<Integer> numbers = new TreeSet<>();
        for (Object p : ofTopic instanceof Map<?, ?> epochs ? epochs.keySet() : (Collection<?>) ofTopic) numbers.add((Integer) p);
        return numbers;
    }

    /** 4.0: the key comes with a version; later: a plain message. */
    static ApiMessage recordKey(Object key) {
        return key instanceof ApiMessageAndVersion versioned ? versioned.message() : (ApiMessage) key;
    }
}
