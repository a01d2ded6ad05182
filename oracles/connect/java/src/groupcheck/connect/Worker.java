package groupcheck.connect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.Metadata;
import org.apache.kafka.clients.consumer.internals.AbstractCoordinator;
import org.apache.kafka.clients.consumer.internals.ConsumerNetworkClient;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocolCompatibility;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator;
import org.apache.kafka.connect.util.ConnectorTaskId;

import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * A worker as a member of its group: Kafka's own WorkerCoordinator over ConsumerNetworkClient, in
 * virtual time, with a network that answers by script. No heartbeat thread runs. Kafka 4.x only.
 */
final class Worker {
    private static final LogContext LOG = new LogContext();

    long now = 1_000_000;
    private final Network network = new Network(this);
    private final Metadata metadata;
    private final ConsumerNetworkClient client;
    private final WorkerCoordinator coordinator;
    private Object config;
    /** What the worker was told to start and to stop since the last look. */
    private ArrayNode calls = Main.MAKE.arrayNode();

    /** Options: protocol, config ([offset, connectors, tasks]), maxDelay, name. */
    Worker(JsonNode options) throws Exception {
        setConfig(options.get("config"));
        Time time = Kafka.proxy(Time.class, this::clock);
        metadata = (Metadata) filled(Metadata.class,
                List.of(100L, 100L, Long.MAX_VALUE), LOG, new ClusterResourceListeners());
        client = new ConsumerNetworkClient(
                LOG, network.client(), metadata, time, 100, 30_000, Integer.MAX_VALUE);
        Class<?> storage = Class.forName("org.apache.kafka.connect.storage.ConfigBackingStore");
        Class<?> listener = Class.forName(
                "org.apache.kafka.connect.runtime.distributed.WorkerRebalanceListener");
        coordinator = (WorkerCoordinator) filled(WorkerCoordinator.class,
                List.of("connect", Values.url(options.get("name").asText()),
                        options.get("maxDelay").asInt()),
                groupConfig(), LOG, client, new Metrics(), time,
                Kafka.proxy(storage, (method, arguments) -> config),
                Kafka.proxy(listener, this::listen),
                ConnectProtocolCompatibility.compatibility(
                        Values.MODES.get(options.get("protocol").asInt())));
        // Without one it would start its own.
        Kafka.set(coordinator, "heartbeatThread", Kafka.longest(Class.forName(
                AbstractCoordinator.class.getName() + "$HeartbeatThread"))
                .newInstance(coordinator));
    }

    private static Object groupConfig() throws Exception {
        return filled(Class.forName("org.apache.kafka.clients.GroupRebalanceConfig"),
                List.of(10_000, 60_000, 3_000, "g", 100L, 100L, true), Optional.empty());
    }

    /**
     * Calls the constructor with the most parameters: numbers, texts and truth values in their
     * order, everything else by its type.
     */
    private static Object filled(Class<?> c, List<Object> inOrder, Object... byType)
            throws Exception {
        Constructor<?> make = Kafka.longest(c);
        List<Object> left = new ArrayList<>(inOrder);
        Object[] arguments = new Object[make.getParameterCount()];
        for (int k = 0; k < arguments.length; k++) {
            Class<?> type = boxed(make.getParameterTypes()[k]);
            List<Object> parts = new ArrayList<>(left);
            parts.addAll(Arrays.asList(byType));
            arguments[k] = parts.stream().filter(type::isInstance).findFirst().orElse(null);
            left.remove(arguments[k]);
        }
        return make.newInstance(arguments);
    }

    private static Class<?> boxed(Class<?> type) {
        if (type == int.class) return Integer.class;
        if (type == long.class) return Long.class;
        return type == boolean.class ? Boolean.class : type;
    }

    private Object clock(Method method, Object[] arguments) {
        switch (method.getName()) {
            case "milliseconds":
                return now;
            case "nanoseconds":
                return now * 1_000_000;
            case "sleep":
                now += (Long) arguments[0];
                return null;
            default:
                throw new IllegalStateException("the worker asks for " + method.getName());
        }
    }

    @SuppressWarnings("unchecked")
    private Object listen(Method method, Object[] arguments) {
        ArrayNode call = calls.addArray().add(method.getName());
        if (method.getName().equals("onAssigned")) {
            call.add(Values.answer((ExtendedAssignment) arguments[0]));
        } else if (method.getName().equals("onRevoked")) {
            call.add(Values.json((Collection<String>) arguments[1]))
                    .add(Values.tasksJson((Collection<ConnectorTaskId>) arguments[2]));
        }
        return null;
    }

    private void setConfig(JsonNode json) throws Exception {
        config = Values.config(Leader.CONFIG, json);
    }

    /** Metadata is at hand when it is asked for. */
    void refreshMetadata() throws Exception {
        if (!metadata.updateRequested()) return;
        List<InetSocketAddress> brokers = List.of(new InetSocketAddress("localhost", 9092));
        if (Kafka.hasMethod(Metadata.class, "bootstrap", 1)) {
            Kafka.call(metadata, Metadata.class, "bootstrap", brokers);
        } else {
            Kafka.call(metadata, Metadata.class, "bootstrap", brokers, now);
        }
    }

    void wakeUp() {
        client.wakeup();
    }

    /**
     * Carries out a command, with the "answers" that come while it runs; the coordinator cannot be
     * found for "awayMs". The reply: sent and calls (see Network and listen), thrown, and how the
     * worker stands then.
     */
    ObjectNode run(JsonNode command) throws Exception {
        ObjectNode reply = Main.MAKE.objectNode();
        network.script.clear();
        command.path("answers").forEach(network.script::add);
        network.awayUntil = now + command.path("awayMs").asLong();
        try {
            carryOut(command);
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof WakeupException)) {
                reply.put("thrown", e.getCause().getClass().getSimpleName());
            }
        }
        reply.set("sent", network.sent);
        network.sent = Main.MAKE.arrayNode();
        reply.set("calls", calls);
        calls = Main.MAKE.arrayNode();
        reply.put("now", now);
        reply.put("rejoin", (Boolean) call("rejoinNeededOrPending"));
        reply.put("memberId", coordinator.memberId());
        reply.put("completed", (Integer) Kafka.get(coordinator, "lastCompletedGenerationId"));
        ExtendedAssignment has = (ExtendedAssignment) Kafka.get(coordinator, "assignmentSnapshot");
        reply.set("has", has == null ? Main.MAKE.nullNode() : Values.answer(has));
        return reply;
    }

    private void carryOut(JsonNode command) throws Exception {
        switch (command.get("worker").asText()) {
            case "start":
                break;
            case "poll":
                Supplier<Object> nothing = () -> null;
                if (Kafka.hasMethod(WorkerCoordinator.class, "poll", 2)) call("poll", 0L, nothing);
                else call("poll", 0L);
                break;
            case "heartbeat":
                call("sendHeartbeatRequest");
                Kafka.call(client, ConsumerNetworkClient.class, "pollNoWakeup");
                break;
            case "config":
                setConfig(command.get("config"));
                break;
            case "requestRejoin":
                call("requestRejoin", "told");
                break;
            case "lose":
                call("markCoordinatorUnknown", true, "told");
                break;
            case "expire":
                call("handlePollTimeoutExpiry");
                break;
            default:
                throw new IllegalStateException("no command " + command.get("worker"));
        }
    }

    private Object call(String name, Object... arguments) throws Exception {
        return Kafka.call(coordinator, WorkerCoordinator.class, name, arguments);
    }
}
