package groupcheck.kafka;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.util.Collection;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What a broker remembers of a streams group (KIP-1071) with one subtopology. Tasks are
 * {"active": [0], "standby": [1]}. Kafka 4.0 lacks most of it, so everything is reached by name.
 */
final class StreamsMemory {
    static final String SUBTOPOLOGY = "0";

    private final World world;

    StreamsMemory(World world) {
        this.world = world;
    }

    void write(ObjectNode memory, Object group) {
        memory.put("state", (String) called(group, "stateAsString"))
                .put("epoch", (Integer) called(group, "groupEpoch"))
                .put("assignmentEpoch", (Integer) called(group, "assignmentEpoch"))
                .put("validatedTopologyEpoch", (Integer) called(group, "validatedTopologyEpoch"))
                .put("configured", there(called(group, "configuredTopology")))
                .put("shutdown", there(called(group, "getShutdownRequestMemberId")));
        Optional<?> topology = (Optional<?>) called(group, "topology");
        topology.ifPresent(t -> memory.put("topologyEpoch", (Integer) called(t, "topologyEpoch")));
        if (Reflect.has(group, "assignmentTimestamp")) {
            memory.put("assignmentTimestampMs", (Long) called(group, "assignmentTimestamp"));
        }
        ArrayNode members = memory.putArray("members");
        Collection<?> all = ((Map<?, ?>) called(group, "members")).values();
        all.stream().sorted(Comparator.comparing(this::name))
                .forEach(m -> member(members.addObject(), m));
        ObjectNode target = memory.putObject("target");
        ((Map<?, ?>) called(group, "targetAssignment")).forEach((m, tasks) ->
                tasks(target.putObject(world.names.shown((String) m)), tasks, "activeTasks"));
        processes(memory.putObject("activeProcesses"), group, "Active", "");
        processes(memory.putObject("standbyProcesses"), group, "Standby", "s");
    }

    private String name(Object member) {
        return world.names.shown((String) called(member, "memberId"));
    }

    private void member(ObjectNode into, Object m) {
        into.put("member", name(m))
                .put("epoch", (Integer) called(m, "memberEpoch"))
                .put("previousEpoch", (Integer) called(m, "previousMemberEpoch"))
                .put("state", called(m, "state").toString())
                .put("process", (String) called(m, "processId"))
                .put("topologyEpoch", (Integer) called(m, "topologyEpoch"));
        tasks(into.putObject("assigned"), called(m, "assignedTasks"), "activeTasksWithEpochs");
        tasks(into.putObject("pendingRevocation"), called(m, "tasksPendingRevocation"),
                "activeTasksWithEpochs");
    }

    private static void tasks(ObjectNode into, Object tasks, String active) {
        numbers(into, "active", called(tasks, active));
        numbers(into, "standby", called(tasks, "standbyTasks"));
        numbers(into, "warmup", called(tasks, "warmupTasks"));
    }

    private static void numbers(ObjectNode into, String role, Object bySubtopology) {
        Object found = ((Map<?, ?>) bySubtopology).get(SUBTOPOLOGY);
        if (found == null) return;
        Collection<?> all = found instanceof Map<?, ?> map ? map.keySet() : (Collection<?>) found;
        if (all.isEmpty()) return;
        ArrayNode numbers = into.putArray(role);
        new TreeSet<>(all).forEach(number -> numbers.add((Integer) number));
    }

    /** Which processes have a task, by its number. */
    private static void processes(ObjectNode into, Object group, String role, String several) {
        Object all = Reflect.field(group, "current" + role + "TaskToProcessId" + several);
        Object found = ((Map<?, ?>) all).get(SUBTOPOLOGY);
        if (found == null) return;
        new TreeMap<>((Map<?, ?>) found).forEach((number, processes) -> {
            ArrayNode names = into.putArray(String.valueOf(number));
            if (processes instanceof Collection<?> set) {
                set.stream().map(String::valueOf).sorted().forEach(names::add);
            } else {
                names.add((String) processes);
            }
        });
    }

    private static boolean there(Object optional) {
        return ((Optional<?>) optional).isPresent();
    }

    private static Object called(Object on, String name) {
        try {
            return Reflect.call(on, name);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
