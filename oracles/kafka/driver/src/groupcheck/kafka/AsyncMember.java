package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.clients.consumer.internals.AsyncKafkaConsumer;
import org.apache.kafka.clients.consumer.internals.ConsumerMetadata;
import org.apache.kafka.clients.consumer.internals.ConsumerNetworkThread;
import org.apache.kafka.clients.consumer.internals.NetworkClientDelegate;
import org.apache.kafka.clients.consumer.internals.RequestManager;
import org.apache.kafka.clients.consumer.internals.RequestManagers;
import org.apache.kafka.clients.consumer.internals.SubscriptionState;
import org.apache.kafka.clients.consumer.internals.events.ApplicationEvent;
import org.apache.kafka.clients.consumer.internals.events.ApplicationEventHandler;
import org.apache.kafka.clients.consumer.internals.events.BackgroundEvent;
import org.apache.kafka.clients.consumer.internals.events.BackgroundEventHandler;
import org.apache.kafka.clients.consumer.internals.events.CompletableEvent;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.MetadataRequestData.MetadataRequestTopic;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.requests.MetadataResponse;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.function.Supplier;

/**
 * A member of a consumer group (KIP-848): Kafka's own AsyncKafkaConsumer, whole. Its background
 * loop runs where a command says so, in virtual time; the network is put in place of the real one.
 * Of the two threads one runs at a time.
 */
final class AsyncMember {
    private final CallbackListener listener = new CallbackListener(this::called);
    // How often the background goes round for a call that waits for it.
    private static final int MOST_ROUNDS = 8;
    private static final String LOOKS = "processBackgroundEvents";
    private static final long LOOK_MS = 100;

    final MemberClock clock = new MemberClock();
    final ApplicationThread application = new ApplicationThread();
    final MemberNetwork network;
    final ConsumerNetworkThread background;
    final RequestManagers managers;
    final SubscriptionState subscriptions;
    final ConsumerMetadata metadata;
    final Queue<ApplicationEvent> forBackground;
    final LinkedBlockingQueue<BackgroundEvent> forApplication = new LinkedBlockingQueue<>();
    private final Consumer<byte[], byte[]> consumer;
    private final Map<String, Object> made = new HashMap<>();
    private final TreeMap<String, Integer> topics = new TreeMap<>();
    private final Topics ids;
    private final boolean listens;
    private final boolean inParts;
    private boolean sendsOnly;
    /** Callbacks since the last look. */
    ArrayNode calls = Json.MAKE.arrayNode();
    /** Callbacks that wait until a command lets them return. */
    private Set<String> held = Set.of();
    private final Semaphore ends = new Semaphore(0);

    /**
     * Options, all of them optional: instance, maxPollMs, listener (true), topics {name:
     * partitions}, id, parts (a call that waits for the background takes no whole rounds of it).
     */
    AsyncMember(JsonNode options, Topics ids) throws Exception {
        this.ids = ids;
        if (options.has("topics")) setTopics(options.get("topics"));
        else topics.put("t", 2);
        inParts = options.path("parts").asBoolean();
        listens = options.path("listener").asBoolean(true);
        network = new MemberNetwork(clock, this::refreshMetadata, () -> { }) {
            @Override
            public List<ClientResponse> poll(long timeout, long now) {
                if (sendsOnly) return List.of();
                return super.poll(isOver() ? timeout : 0, now);
            }

            @Override
            public void wakeup() {
                answerWaiting();
            }
        };
        clock.timers = this::length;
        consumer = consumer(config(options));
        background = (ConsumerNetworkThread) made.get("background");
        managers = (RequestManagers) Reflect.field(background, "requestManagers");
        metadata = (ConsumerMetadata) made.get("ConsumerMetadata");
        subscriptions = (SubscriptionState) Reflect.field(consumer, "subscriptions");
        forBackground = queue(background);
        if (options.has("id")) {
            Reflect.set(managers.consumerMembershipManager.get(), "memberId",
                    options.get("id").asText());
        }
        metadata.updateWithCurrentRequestVersion(topicsMetadata(), false, clock.now);
    }

    @SuppressWarnings("unchecked")
    private static Queue<ApplicationEvent> queue(Object background) {
        return (Queue<ApplicationEvent>) Reflect.field(background, "applicationEventQueue");
    }

    private static ConsumerConfig config(JsonNode options) {
        String bytes = ByteArrayDeserializer.class.getName();
        Map<String, Object> all = new HashMap<>(Map.of(
                "bootstrap.servers", "localhost:9092", "group.id", "g",
                "group.protocol", "consumer", "client.id", "c", "metric.reporters", "",
                "key.deserializer", bytes, "value.deserializer", bytes));
        all.put("enable.metrics.push", "false");
        all.put("auto.offset.reset", "earliest");
        all.put("retry.backoff.ms", "1");
        all.put("retry.backoff.max.ms", "1");
        all.put("enable.auto.commit", false);
        all.put("max.poll.interval.ms", options.path("maxPollMs").asInt(300_000));
        if (options.has("instance")) all.put("group.instance.id", options.get("instance").asText());
        return new ConsumerConfig(all);
    }

    /** Calls the constructor that takes the factories of what the consumer is made of. */
    @SuppressWarnings("unchecked")
    private Consumer<byte[], byte[]> consumer(ConsumerConfig config) throws Exception {
        Constructor<?> constructor = Arrays.stream(AsyncKafkaConsumer.class
                        .getDeclaredConstructors())
                .filter(c -> Arrays.stream(c.getParameterTypes())
                        .anyMatch(t -> t.getSimpleName().equals("ApplicationEventHandlerFactory")))
                .findFirst().orElseThrow();
        constructor.setAccessible(true);
        Object[] arguments = Arrays.stream(constructor.getParameterTypes()).map(type ->
                type == ConsumerConfig.class ? config
                : type.isInstance(clock) ? clock
                : type == LinkedBlockingQueue.class ? forApplication
                : type == Optional.class ? Optional.empty()
                : type.getSimpleName().endsWith("Factory") ? factory(type, config)
                : new ByteArrayDeserializer()).toArray();
        return (Consumer<byte[], byte[]>) constructor.newInstance(arguments);
    }

    /** A factory that makes what Kafka's own would, but for the thread. */
    private Object factory(Class<?> type, ConsumerConfig config) {
        return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type},
                (proxy, method, arguments) -> {
                    if (!method.getName().equals("build")) return null;
                    Class<?> of = method.getReturnType();
                    Object product = of == ApplicationEventHandler.class
                            ? handler(arguments, config) : make(of, arguments);
                    made.put(of.getSimpleName(), product);
                    return product;
                });
    }

    private static Object make(Class<?> of, Object[] arguments) throws Exception {
        for (Constructor<?> c : of.getDeclaredConstructors())
            if (c.getParameterCount() == arguments.length && fits(c, arguments)) {
                c.setAccessible(true);
                return c.newInstance(arguments);
            }
        throw new IllegalStateException("no constructor of " + of);
    }

    private static boolean fits(Constructor<?> constructor, Object[] arguments) {
        Class<?>[] types = constructor.getParameterTypes();
        for (int k = 0; k < types.length; k++)
            if (!types[k].isPrimitive() && !types[k].isInstance(arguments[k])) return false;
        return true;
    }

    /**
     * The handler with a background thread that does nothing until it ends, and with this network.
     * Its own constructor would start the thread, so it is not called.
     */
    private Object handler(Object[] arguments, ConsumerConfig config) throws Exception {
        Object metrics = arguments[arguments.length - 1];
        BackgroundEventHandler events = (BackgroundEventHandler) make(
                BackgroundEventHandler.class, new Object[] {forApplication, clock, metrics});
        Supplier<?> connected = (Supplier<?>) arguments[6];
        Object client = make(NetworkClientDelegate.class, new Object[] {
            clock, config, arguments[0], network, made.get("ConsumerMetadata"), events, false,
            metrics});
        Reflect.set(connected, "result", client);
        Thread[] self = new Thread[1];
        Supplier<?> processors = () -> rest(self[0], (Supplier<?>) arguments[5]);
        Thread thread = (Thread) make(ConsumerNetworkThread.class, new Object[] {
            arguments[0], clock, arguments[3], arguments[4], processors, connected, arguments[7],
            metrics});
        Reflect.call(thread, "initializeResources");
        self[0] = thread;
        thread.start();
        made.put("background", thread);
        Object handler = unmade(ApplicationEventHandler.class);
        for (Field field : ApplicationEventHandler.class.getDeclaredFields()) {
            Object value = part(field.getType(), thread, arguments);
            if (value != null) Reflect.set(handler, field.getName(), value);
        }
        return handler;
    }

    /** The background's own thread waits here, before its loop, until it is to end. */
    private Object rest(Thread self, Supplier<?> made) {
        if (Thread.currentThread() != self) return made.get();
        ends.acquireUninterruptibly();
        throw new IllegalStateException("its loop ran by hand");
    }

    private Object part(Class<?> type, Object thread, Object[] arguments) throws Exception {
        if (type.isInstance(thread)) return thread;
        if (type.getSimpleName().equals("IdempotentCloser")) return make(type, new Object[0]);
        for (Object argument : arguments) if (type.isInstance(argument)) return argument;
        return type.getSimpleName().equals("Logger")
                ? org.slf4j.LoggerFactory.getLogger(ApplicationEventHandler.class) : null;
    }

    /** An object whose constructor was not called. */
    private static Object unmade(Class<?> type) throws Exception {
        Class<?> factories = Class.forName("sun.reflect.ReflectionFactory");
        Object factory = factories.getMethod("getReflectionFactory").invoke(null);
        Method method = factories.getMethod(
                "newConstructorForSerialization", Class.class, Constructor.class);
        return ((Constructor<?>) method.invoke(
                factory, type, Object.class.getDeclaredConstructor())).newInstance();
    }

    // -- the background

    /**
     * One part of a round: the events of the application, a manager's requests, or the network,
     * which sends what there is and reads what is answered (`send`: reads nothing yet).
     */
    void part(String name) throws Exception {
        NetworkClientDelegate client =
                (NetworkClientDelegate) Reflect.field(background, "networkClientDelegate");
        switch (name) {
            case "events" -> Reflect.call(background, "processApplicationEvents");
            case "network" -> client.poll(0, clock.now);
            case "send" -> {
                sendsOnly = true;
                client.poll(0, clock.now);
                sendsOnly = false;
            }
            case "coordinator" -> poll(client, managers.coordinatorRequestManager.get());
            case "commit" -> poll(client, managers.commitRequestManager.get());
            case "heartbeat" -> poll(client, managers.consumerHeartbeatRequestManager.get());
            case "membership" -> poll(client, managers.consumerMembershipManager.get());
            default -> throw new Refused("a round has no part " + name);
        }
    }

    private void poll(NetworkClientDelegate client, RequestManager manager) {
        client.addAll(manager.poll(clock.now));
    }

    private boolean isOver() {
        return background != null && !background.isRunning();
    }

    /** One round of the background loop. */
    void round() throws Exception {
        Reflect.call(background, "runOnce");
    }

    /** The application has added an event. If its call waits for that, the background goes on. */
    private void answerWaiting() {
        if (isOver()) ends.release();
        if (background == null) return;
        ApplicationEvent last = null;
        for (ApplicationEvent event : forBackground) last = event;
        if (held.contains("added") && last != null
                && last.type().toString().equals("UNSUBSCRIBE")) application.waitAt("waits");
        // commitAsync waits until the background has taken its offsets.
        boolean commits = last != null && last.type().toString().equals("COMMIT_ASYNC");
        if (!commits && !calledFrom("addAndGet")) return;
        if (!(last instanceof CompletableEvent<?> asked)) return;
        try {
            if (commits) {
                part("events");
                return;
            }
            for (int k = 0; k < MOST_ROUNDS && !asked.future().isDone(); k++) {
                if (inParts) part("events");
                else round();
            }
            while (!asked.future().isDone()) application.waitAt(last.type().toString());
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean calledFrom(String method) {
        return StackWalker.getInstance().walk(frames -> frames.limit(16)
                .anyMatch(frame -> frame.getMethodName().equals(method)));
    }

    /**
     * unsubscribe and close look for events of the background all 100 ms until they are done. Here
     * the driver says when they look again.
     */
    private long length(long ms) {
        if (ms != LOOK_MS || !application.isCurrent() || !calledFrom(LOOKS)) return ms;
        application.waitAt("waits");
        return 0;
    }

    // -- the application

    void hold(JsonNode callbacks) {
        TreeSet<String> names = new TreeSet<>();
        callbacks.forEach(name -> names.add(name.asText()));
        held = names;
    }

    void poll() {
        application.begin(() -> consumer.poll(Duration.ZERO));
    }

    void subscribe(List<String> names, String regex) {
        application.begin(() -> {
            if (regex != null && listens) {
                consumer.subscribe(new SubscriptionPattern(regex), listener);
            } else if (regex != null) {
                consumer.subscribe(new SubscriptionPattern(regex));
            } else if (listens) {
                consumer.subscribe(names, listener);
            } else {
                consumer.subscribe(names);
            }
            return null;
        });
    }

    void unsubscribe() {
        application.begin(() -> {
            consumer.unsubscribe();
            return null;
        });
    }

    /** The application commits an offset of the first partition of a topic, and does not wait. */
    void commit(String topic, long offset) {
        var offsets = Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(offset));
        application.begin(() -> {
            consumer.commitAsync(offsets, null);
            return null;
        });
    }

    /** As the background thread ends, what is still to be sent is sent. */
    void close(String operation) {
        application.begin(() -> {
            MemberVersions.close(consumer, operation);
            return null;
        });
    }

    /** Nobody needs it any more. */
    void abandon() {
        application.abandon();
        Reflect.set(background, "closeTimeout", Duration.ZERO);
        Reflect.set(background, "running", false);
        ends.release();
        ((Metrics) Reflect.field(consumer, "metrics")).close();
    }

    private void called(String callback, Collection<TopicPartition> partitions) {
        calls.addObject().put("call", callback).set("partitions", Json.json(partitions));
        if (!held.contains(callback)) return;
        application.waitAt(callback);
        if (application.fails()) throw new IllegalStateException("the callback throws");
    }

    // -- topics

    void setTopics(JsonNode wanted) {
        topics.clear();
        wanted.properties().forEach(e -> topics.put(e.getKey(), e.getValue().asInt()));
        if (metadata != null) metadata.requestUpdate(true);
    }

    String topic(Uuid id) {
        for (String name : topics.keySet()) if (ids.id(name).equals(id)) return name;
        return ids.name(id);
    }

    private void refreshMetadata() {
        if (metadata != null && metadata.updateRequested()) {
            metadata.updateWithCurrentRequestVersion(topicsMetadata(), false, clock.now);
        }
    }

    /** The topics that the member asks for: by name, as those that it is subscribed to. */
    private MetadataResponse topicsMetadata() {
        List<MetadataRequestTopic> asked = metadata.newMetadataRequestBuilder().build().data()
                .topics();
        List<MetadataResponseTopic> found = new ArrayList<>();
        topics.forEach((name, count) -> {
            boolean wanted = asked == null || asked.stream().anyMatch(t ->
                    name.equals(t.name()) || ids.id(name).equals(t.topicId()));
            if (!wanted) return;
            MetadataResponseTopic topic =
                    new MetadataResponseTopic().setName(name).setTopicId(ids.id(name));
            for (int p = 0; p < count; p++)
                topic.partitions().add(new MetadataResponsePartition().setPartitionIndex(p)
                        .setLeaderId(0).setReplicaNodes(List.of(0)).setIsrNodes(List.of(0)));
            found.add(topic);
        });
        return MetadataResponse.prepareResponse(ApiKeys.METADATA.latestVersion(), 0,
                List.of(MemberNetwork.BROKER), "cluster", 0, found, Integer.MIN_VALUE);
    }
}
