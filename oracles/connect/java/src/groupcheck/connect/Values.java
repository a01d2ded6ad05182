package groupcheck.connect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;

import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Between Kafka's values and JSON. Connectors are ["a"], tasks [["a", 0]]. */
final class Values {
    static final List<String> PROTOCOLS = List.of("default", "compatible", "sessioned");
    /** The same, as the worker's configuration names them. */
    static final List<String> MODES = List.of("eager", "compatible", "sessioned");
    private static final Class<?> BYTES = IncrementalCooperativeConnectProtocol.class;

    private Values() { }

    static List<String> texts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(text -> texts.add(text.asText()));
        return texts;
    }

    static List<ConnectorTaskId> tasks(JsonNode list) {
        List<ConnectorTaskId> tasks = new ArrayList<>();
        list.forEach(t -> tasks.add(new ConnectorTaskId(t.get(0).asText(), t.get(1).asInt())));
        return tasks;
    }

    static ArrayNode json(Collection<String> texts) {
        ArrayNode json = Main.MAKE.arrayNode();
        texts.forEach(json::add);
        return json;
    }

    static ArrayNode tasksJson(Collection<ConnectorTaskId> tasks) {
        ArrayNode json = Main.MAKE.arrayNode();
        tasks.forEach(t -> json.addArray().add(t.connector()).add(t.task()));
        return json;
    }

    /** [offset, connectors, tasks] -> a ClusterConfigState, or null. */
    static Object config(Class<?> c, JsonNode json) throws Exception {
        if (json == null || json.isNull()) return null;
        Map<String, Integer> counts = new HashMap<>();
        Map<String, Map<String, String>> configs = new HashMap<>();
        texts(json.get(1)).forEach(connector -> {
            counts.put(connector, 0);
            configs.put(connector, Map.of());
        });
        tasks(json.get(2)).forEach(task -> counts.merge(task.connector(), 1, Integer::sum));
        Constructor<?> make = Kafka.longest(c);
        Object[] arguments = new Object[make.getParameterCount()];
        // Two maps matter, and they come first: numbers of tasks, and configurations.
        List<Object> maps = new ArrayList<>(List.of(counts, configs));
        for (int k = 0; k < arguments.length; k++) {
            Class<?> type = make.getParameterTypes()[k];
            if (type == long.class) arguments[k] = json.get(0).asLong();
            else if (type == Map.class) arguments[k] = maps.isEmpty() ? Map.of() : maps.remove(0);
            else if (type == Set.class) arguments[k] = Set.of();
        }
        return make.newInstance(arguments);
    }

    /**
     * The bytes that a worker puts into its JoinGroup for a protocol; [id, offset, connectors,
     * tasks]. A worker that runs nothing has no assignment.
     */
    static byte[] metadata(JsonNode worker, String protocol) throws Exception {
        List<String> connectors = texts(worker.get(2));
        List<ConnectorTaskId> tasks = tasks(worker.get(3));
        short version = (short) PROTOCOLS.indexOf(protocol);
        ExtendedAssignment has = connectors.isEmpty() && tasks.isEmpty() ? null
                : new ExtendedAssignment(version, (short) 0, "", "", 0L, connectors, tasks,
                        List.of(), List.of(), 0);
        ExtendedWorkerState state = new ExtendedWorkerState(
                url(worker.get(0).asText()), worker.get(1).asLong(), has);
        ByteBuffer bytes;
        if (version == 0) {
            bytes = ConnectProtocol.serializeMetadata(state);
        } else if (Kafka.hasMethod(BYTES, "serializeMetadata", 2)) {
            bytes = (ByteBuffer) Kafka.call(null, BYTES, "serializeMetadata", state, version == 2);
        } else {
            bytes = (ByteBuffer) Kafka.call(null, BYTES, "serializeMetadata", state);
        }
        byte[] copy = new byte[bytes.remaining()];
        bytes.get(copy);
        return copy;
    }

    static String url(String worker) {
        return "http://" + worker;
    }

    /** What a worker reads in its answer. */
    static ArrayNode answer(ByteBuffer bytes) {
        ExtendedAssignment read =
                IncrementalCooperativeConnectProtocol.deserializeAssignment(bytes.duplicate());
        return answer(read);
    }

    /**
     * [error, offset, leader, its url, version, connectors, tasks, revoked connectors, revoked
     * tasks, delay]
     */
    static ArrayNode answer(ExtendedAssignment read) {
        return Main.MAKE.arrayNode()
                .add(read.error()).add(read.offset()).add(read.leader()).add(read.leaderUrl())
                .add(read.version())
                .add(json(read.connectors())).add(tasksJson(read.tasks()))
                .add(json(read.revokedConnectors())).add(tasksJson(read.revokedTasks()))
                .add(read.delay());
    }

    /** An answer in the form of `answer`, as bytes. */
    static byte[] bytes(JsonNode told, String protocol) throws Exception {
        short version = (short) PROTOCOLS.indexOf(protocol);
        ExtendedAssignment assignment = new ExtendedAssignment(version,
                (short) told.get(0).asInt(), told.get(2).asText(), told.get(3).asText(),
                told.get(1).asLong(), texts(told.get(5)), tasks(told.get(6)), texts(told.get(7)),
                tasks(told.get(8)), told.get(9).asInt());
        ByteBuffer bytes = version == 0 ? ConnectProtocol.serializeAssignment(assignment)
                : (ByteBuffer) Kafka.call(
                        null, BYTES, "serializeAssignment", assignment, version == 2);
        byte[] copy = new byte[bytes.remaining()];
        bytes.get(copy);
        return copy;
    }

    /** What a worker says of itself: [url, offset, what it has as in `answer`, or null]. */
    static ArrayNode state(ByteBuffer bytes) {
        ExtendedWorkerState state =
                IncrementalCooperativeConnectProtocol.deserializeMetadata(bytes.duplicate());
        ArrayNode json = Main.MAKE.arrayNode().add(state.url()).add(state.offset());
        ExtendedAssignment has = state.assignment();
        return has == ExtendedAssignment.empty() ? json.addNull() : json.add(answer(has));
    }
}
