package groupcheck.connect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.consumer.internals.AbstractCoordinator;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.runtime.distributed.EagerAssignor;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeAssignor;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator;
import org.apache.kafka.connect.util.ConnectorTaskId;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * A process of a worker as far as it assigns: Kafka's own assignors with the memory that they have.
 * The worker's coordinator is Kafka's class, too, but only those of its fields are set that an
 * assignor asks for.
 */
final class Leader {
    private static final Class<?> GENERATION = generationClass();
    static final Class<?> CONFIG = configClass();

    private final IncrementalCooperativeAssignor incremental;
    private final EagerAssignor eager = new EagerAssignor(new LogContext());
    private final WorkerCoordinator coordinator = Kafka.bare(WorkerCoordinator.class);
    private Object fresh;
    private long now;

    Leader(int maxDelay) throws Exception {
        Time time = Kafka.proxy(Time.class, (method, arguments) -> {
            if (method.getName().equals("milliseconds")) return now;
            throw new IllegalStateException("the assignor asks for " + method.getName());
        });
        incremental = new IncrementalCooperativeAssignor(new LogContext(), time, maxDelay);
        Class<?> storage = Class.forName("org.apache.kafka.connect.storage.ConfigBackingStore");
        Kafka.set(coordinator, "configStorage", Kafka.proxy(storage, (method, arguments) -> fresh));
    }

    private static Class<?> generationClass() {
        return Arrays.stream(AbstractCoordinator.class.getDeclaredClasses())
                .filter(c -> c.getSimpleName().equals("Generation")).findFirst().orElseThrow();
    }

    /** It moved from the package of the herder to that of storage. */
    private static Class<?> configClass() {
        return Arrays.stream(WorkerCoordinator.class.getDeclaredFields())
                .filter(f -> f.getName().equals("configSnapshot")).findFirst().orElseThrow()
                .getType();
    }

    /**
     * One round: leader, protocol, now, config and fresh ([offset, connectors, tasks]), completed,
     * generation, workers ([[id, offset, connectors, tasks]]); with "memory" from that memory
     * instead of the present one. The answer: answers by worker, memory, config (an offset), and
     * owners by worker.
     */
    ObjectNode assign(JsonNode round) throws Exception {
        now = round.get("now").asLong();
        if (round.has("memory")) remember(round.get("memory"));
        Kafka.set(coordinator, "configSnapshot", Values.config(CONFIG, round.get("config")));
        fresh = Values.config(CONFIG, round.get("fresh"));
        if (fresh == null) fresh = Kafka.get(coordinator, "configSnapshot");
        setGenerations(round);
        Kafka.set(coordinator, "leaderState", null);
        String protocol = round.get("protocol").asText();
        List<JoinGroupResponseMember> members = new ArrayList<>();
        for (JsonNode worker : round.get("workers"))
            members.add(new JoinGroupResponseMember().setMemberId(worker.get(0).asText())
                    .setMetadata(Values.metadata(worker, protocol)));
        Map<String, ByteBuffer> bytes =
                perform(round.get("leader").asText(), protocol, members);
        ObjectNode answer = Main.MAKE.objectNode();
        ObjectNode answers = answer.putObject("answers");
        bytes.forEach((worker, told) -> answers.set(worker, Values.answer(told)));
        answer.set("memory", memory());
        Object config = Kafka.get(coordinator, "configSnapshot");
        answer.put("config", (Long) Kafka.call(config, CONFIG, "offset"));
        answer.set("owners", owners());
        return answer;
    }

    private void setGenerations(JsonNode round) throws Exception {
        Constructor<?> make = Kafka.longest(GENERATION);
        Kafka.set(coordinator, "generation",
                make.newInstance(round.get("generation").asInt(), "leader", "protocol"));
        if (Kafka.has(WorkerCoordinator.class, "lastCompletedGenerationId")) {
            Kafka.set(coordinator, "lastCompletedGenerationId", round.get("completed").asInt());
        }
    }

    /** Up to 4.1 the protocol's name, later its enum. */
    @SuppressWarnings("unchecked")
    private Map<String, ByteBuffer> perform(
            String leader, String protocol, List<JoinGroupResponseMember> members)
            throws Exception {
        Object assignor = protocol.equals("default") ? eager : incremental;
        Method method = Arrays.stream(assignor.getClass().getMethods())
                .filter(m -> m.getName().equals("performAssignment")).findFirst().orElseThrow();
        Class<?> type = method.getParameterTypes()[1];
        Object told = type == String.class ? protocol
                : type.getEnumConstants()[Values.PROTOCOLS.indexOf(protocol)];
        return (Map<String, ByteBuffer>) method.invoke(
                assignor, leader, told, members, coordinator);
    }

    /** The field `revokedInPrevious` was `canRevoke` before 3.4. */
    private boolean backsOff() {
        return Kafka.has(IncrementalCooperativeAssignor.class, "revokedInPrevious");
    }

    private boolean knowsMembers() {
        return Kafka.has(IncrementalCooperativeAssignor.class, "previousMembers");
    }

    /**
     * [previous connectors, tasks, revoked connectors, tasks, members, generation, scheduled,
     * delay, candidates, revoked in previous, successive]; sets are sorted, and what a version does
     * not have is null.
     */
    private ArrayNode memory() throws Exception {
        ArrayNode memory = Main.MAKE.arrayNode();
        for (String field : List.of("previousAssignment", "previousRevocation")) {
            Object work = Kafka.get(incremental, field);
            memory.add(Values.json(new TreeSet<>(connectors(work))));
            memory.add(Values.tasksJson(new TreeSet<>(tasks(work))));
        }
        if (knowsMembers()) {
            memory.add(Values.json(new TreeSet<>(
                    this.<Collection<String>>field("previousMembers"))));
            memory.add(this.<Integer>field("previousGenerationId"));
        } else {
            memory.addNull().addNull();
        }
        memory.add(this.<Long>field("scheduledRebalance")).add(this.<Integer>field("delay"));
        memory.add(Values.json(this.<Collection<String>>field("candidateWorkersForReassignment")));
        boolean flag = this.<Boolean>field(backsOff() ? "revokedInPrevious" : "canRevoke");
        memory.add(backsOff() == flag);
        if (backsOff()) memory.add(this.<Integer>field("numSuccessiveRevokingRebalances"));
        else memory.addNull();
        return memory;
    }

    @SuppressWarnings("unchecked")
    private <T> T field(String name) throws IllegalAccessException {
        return (T) Kafka.get(incremental, name);
    }

    @SuppressWarnings("unchecked")
    private static Collection<String> connectors(Object work) throws IllegalAccessException {
        return (Collection<String>) Kafka.get(work, "connectors");
    }

    @SuppressWarnings("unchecked")
    private static Collection<ConnectorTaskId> tasks(Object work) throws IllegalAccessException {
        return (Collection<ConnectorTaskId>) Kafka.get(work, "tasks");
    }

    private void remember(JsonNode memory) throws Exception {
        Kafka.set(incremental, "previousAssignment", new WorkerCoordinator.ConnectorsAndTasks
                .Builder().with(Values.texts(memory.get(0)), Values.tasks(memory.get(1))).build());
        Object revocation = Kafka.get(incremental, "previousRevocation");
        connectors(revocation).clear();
        connectors(revocation).addAll(Values.texts(memory.get(2)));
        tasks(revocation).clear();
        tasks(revocation).addAll(Values.tasks(memory.get(3)));
        if (knowsMembers()) {
            Set<String> members = new LinkedHashSet<>(Values.texts(memory.get(4)));
            Kafka.set(incremental, "previousMembers", members);
            Kafka.set(incremental, "previousGenerationId", memory.get(5).asInt());
        }
        Kafka.set(incremental, "scheduledRebalance", memory.get(6).asLong());
        Kafka.set(incremental, "delay", memory.get(7).asInt());
        Collection<String> candidates = field("candidateWorkersForReassignment");
        candidates.clear();
        candidates.addAll(Values.texts(memory.get(8)));
        boolean revoked = memory.get(9).asBoolean();
        Kafka.set(incremental, backsOff() ? "revokedInPrevious" : "canRevoke",
                backsOff() == revoked);
        if (backsOff()) {
            Kafka.set(incremental, "numSuccessiveRevokingRebalances", memory.get(10).asInt());
        }
    }

    /** {"w": [connectors, tasks]} of what the leader says of owners; null if it says nothing. */
    @SuppressWarnings("unchecked")
    private JsonNode owners() throws Exception {
        Object state = Kafka.get(coordinator, "leaderState");
        if (state == null) return Main.MAKE.nullNode();
        ObjectNode owners = Main.MAKE.objectNode();
        ((Map<String, String>) Kafka.get(state, "connectorOwners")).forEach((connector, worker) ->
                of(owners, worker).withArray("connectors").add(connector));
        ((Map<ConnectorTaskId, String>) Kafka.get(state, "taskOwners")).forEach((task, worker) ->
                of(owners, worker).withArray("tasks").addArray()
                        .add(task.connector()).add(task.task()));
        return owners;
    }

    private static ObjectNode of(ObjectNode owners, String worker) {
        return owners.has(worker) ? (ObjectNode) owners.get(worker) : owners.putObject(worker);
    }
}
