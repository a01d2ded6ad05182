package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.consumer.internals.RequestFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.IllegalGenerationException;
import org.apache.kafka.common.errors.MemberIdRequiredException;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestTopics;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseGroup;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.coordinator.group.classic.ClassicGroup;
import org.apache.kafka.coordinator.group.classic.ClassicGroupState;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;

/**
 * A whole group: real members on a real coordinator, joined by connections that can break. Nothing
 * moves by itself. A command moves one thing; `settle` lets all members read what was answered.
 */
final class Whole {
    private static final String COORDINATOR =
            "{\"coordinators\":[{\"key\":\"g\",\"nodeId\":0,\"host\":\"broker\",\"port\":9092,"
            + "\"errorCode\":0,\"errorMessage\":null}]}";
    private static final int MOST_POLLS = 4;
    private static final String OPTIONS =
            "{\"heartbeatMs\":1,\"backoffMs\":1,\"backoffMaxMs\":1,"
            + "\"autoCommitMs\":1600000000}";

    // After these poll joins again by itself.
    private static final List<Class<? extends ApiException>> JOINS_AGAIN = List.of(
            UnknownMemberIdException.class, IllegalGenerationException.class,
            RebalanceInProgressException.class, MemberIdRequiredException.class);

    private final World world = new World();
    // Requests have no numbers here.
    private final Memory memory = new Memory(world, new Answers());
    private final Records records = new Records(world);
    private final WholeLook looks = new WholeLook(world.names);
    private final List<Process> processes = new ArrayList<>();
    private SplittableRandom random = SeededRandom.current();
    private long steps;
    // The last answer about the committed offset: by which broker, and for which high watermark.
    private Broker asked;
    private long askedAt;
    private long committed;

    /** A member's process, with the late request of an earlier connection. */
    private static final class Process implements Member.Listening {
        /**
         * Its options. session.timeout.ms and max.poll.interval.ms are so long that they end only
         * when a command lets time pass.
         */
        final ObjectNode options;
        Member member;
        WholeLink link;
        WholeLink.Late late;
        String failed = "";
        boolean closing;

        Process(ObjectNode options) {
            this.options = options;
        }

        /** max.poll.interval.ms passes. */
        void sleep() {
            member.clock.sleep(options.get("rebalanceMs").asLong());
        }

        @Override
        public void during(String callback) { }

        @Override
        public void waiting() { }
    }

    /**
     * Carries out one step: a list of commands, then a look. Instead, as an object: refused, or
     * failed with a stack trace.
     */
    String run(JsonNode step) {
        SeededRandom.use(random);
        try {
            world.clock.startCommand(++steps);
            for (JsonNode command : step.path("do")) carryOut(command);
            return look();
        } catch (Refused e) {
            return Json.MAKE.objectNode().put("refused", e.getMessage()).toString();
        } catch (Throwable t) {
            StringWriter trace = new StringWriter();
            t.printStackTrace(new PrintWriter(trace));
            return Json.MAKE.objectNode().put("failed", trace.toString()).toString();
        } finally {
            random = SeededRandom.current();
        }
    }

    private void carryOut(JsonNode command) throws Exception {
        Process of = command.has("i") ? processes.get(command.get("i").asInt()) : null;
        switch (command.path("op").asText()) {
            case "reset" -> reset(command);
            case "settle" -> settle();
            case "fire" -> fire(command.path("timer").asText());
            case "replicate" -> {
                world.autoCommit(command.path("on").asBoolean());
                world.clock.drain();
            }
            case "failOver" -> failOver(command);
            case "poll" -> poll(of);
            case "network" -> of.member.client.pollNoWakeup();
            case "beat" -> beat(of);
            case "pollTimeout" -> {
                of.sleep();
                of.member.heartbeatRound();
            }
            case "wait" -> of.sleep();
            case "commit" -> commit(of);
            case "fetch" -> fetch(of, command.path("partition").asInt());
            case "position" -> of.member.subscriptions.seek(
                    new TopicPartition("t", command.path("partition").asInt()),
                    command.path("offset").asLong());
            case "flush" -> flush(of);
            case "cut" -> cut(of);
            case "void" -> {
                if (of.link.unread().isEmpty()) return;
                WholeLink.Late taken = of.link.take();
                holding(taken.api(), () -> of.link.handle(taken));
                of.member.client.pollNoWakeup();
            }
            case "delay" -> {
                if (of.link.unread().isEmpty()) return;
                of.late = of.link.take();
                of.member.client.pollNoWakeup();
            }
            case "late" -> {
                if (of.late == null) throw new Refused("no request is late");
                WholeLink.Late late = of.late;
                of.late = null;
                holding(late.api(), () -> of.link.handle(late));
            }
            case "kill" -> start(of);
            case "close" -> {
                of.closing = true;
                of.member.close(0, "DEFAULT");
            }
            default -> throw new Refused("there is no command " + command.path("op").asText());
        }
    }

    private void reset(JsonNode command) throws Exception {
        ObjectNode topics = Json.MAKE.objectNode().put("t", command.path("partitions").asInt(2));
        ObjectNode setup = Json.MAKE.objectNode().put("seed", command.path("seed").asLong());
        setup.set("topics", topics);
        ObjectNode config = setup.putObject("config")
                .put("group.max.session.timeout.ms", "2000000000");
        if (command.has("maxSize")) config.put("group.max.size", command.get("maxSize").asText());
        world.reset(setup);
        records.clear();
        processes.clear();
        steps = 0;
        for (JsonNode member : command.path("members")) {
            ObjectNode options = (ObjectNode) Json.MAPPER.readTree(OPTIONS);
            options.put("autoCommit", command.path("autoCommit").asBoolean(true));
            options.setAll((ObjectNode) member);
            options.set("topics", topics);
            Process process = new Process(options);
            start(process);
            processes.add(process);
        }
    }

    /**
     * The process dies, and another one stands in its place; what it had sent is answered to
     * nobody.
     */
    private void start(Process of) throws Exception {
        if (of.link != null) of.link.cut();
        of.member = new Member(of.options, of);
        of.link = new WholeLink(world, of.member);
        of.failed = "";
        of.closing = false;
    }

    /** The broker reads what the member has sent, one request after the other, until one waits. */
    private void flush(Process of) throws Exception {
        while (of.link.outstanding() == null && !of.link.unread().isEmpty()) {
            holding(of.link.unread().get(0).apiKey(), of.link::deliver);
            settle();
        }
    }

    private interface Moving {
        void move() throws Exception;
    }

    /** What a SyncGroup appends is not replicated until a command says so. */
    private void holding(ApiKeys api, Moving what) throws Exception {
        if (api == ApiKeys.SYNC_GROUP) world.autoCommit(false);
        what.move();
        overtaken();
    }

    /** An append whose round is over is replicated: nobody waits for it. */
    private void overtaken() throws Exception {
        boolean waits = world.leader().groups().get("g") instanceof ClassicGroup group
                && group.isInState(ClassicGroupState.COMPLETING_REBALANCE)
                && group.leaderOrNull() != null
                && group.member(group.leaderOrNull()).isAwaitingSync();
        if (waits) return;
        world.autoCommit(true);
        world.clock.drain();
    }

    /** The connection breaks. A member whose requests were on it reads that. */
    private void cut(Process of) {
        of.link.cut();
        if (of.member.network.hasAnswers()) of.member.client.pollNoWakeup();
    }

    private void failOver(JsonNode command) throws Exception {
        world.failOver(command);
        for (Process of : processes) {
            of.late = null;
            cut(of);
        }
    }

    private void fire(String timer) {
        Clock.Due due = world.leader().armed().get(timer);
        if (due == null) throw new Refused("no timer " + timer + " is armed");
        world.leader().timers.fire(due);
        world.clock.drain();
        world.nameNewIds(world.leader());
    }

    /**
     * All members read their answers, until there are none. A poll that waited for one throws what
     * came of it, and a process that has closed ends.
     */
    private void settle() throws Exception {
        overtaken();
        for (boolean more = true; more; ) {
            more = false;
            for (Process of : processes)
                if (of.member.network.hasAnswers()) {
                    of.member.client.pollNoWakeup();
                    more = true;
                }
        }
        for (Process of : processes)
            if (of.failed.isEmpty() && !of.closing && refusedForGood(of.member)) poll(of);
        for (Process of : processes)
            if (of.closing && of.link.outstanding() == null && of.link.unread().isEmpty()) {
                start(of);
            }
    }

    /** Would poll throw the answer to JoinGroup or SyncGroup (AbstractCoordinator)? */
    private static boolean refusedForGood(Member member) {
        RequestFuture<?> join = (RequestFuture<?>) Reflect.field(member.coordinator, "joinFuture");
        return join != null && join.failed() && !join.isRetriable()
                && JOINS_AGAIN.stream().noneMatch(known -> known.isInstance(join.exception()));
    }

    /**
     * The application polls until a request is sent, a callback is called or nothing comes of it.
     */
    private void poll(Process of) throws Exception {
        int unread = of.link.unread().size();
        for (int k = 0; k < MOST_POLLS; k++) {
            try {
                of.member.coordinator.poll(of.member.clock.timer(0), false);
            } catch (RuntimeException e) {
                of.failed = e.getClass().getSimpleName() + ": " + e.getMessage();
                return;
            } finally {
                of.member.keepThread();
            }
            if (of.link.unread().size() > unread || called(of.member)) return;
            findCoordinator(of);
        }
    }

    /**
     * Was a rebalance callback called that has not been shown yet? A member that has lost its
     * partitions while it backs off goes on polling: it joins in the same step.
     */
    private static boolean called(Member member) {
        for (JsonNode call : member.calls) {
            boolean lost = call.path("call").asText().equals("lost");
            if (!lost && !call.path("partitions").isMissingNode()) return true;
        }
        return false;
    }

    private void findCoordinator(Process of) throws Exception {
        for (ClientRequest request : List.copyOf(of.member.network.sent.values()))
            if (request.apiKey().name.equals("FindCoordinator")) {
                of.member.network.answer(request.correlationId(),
                        MemberRequests.answer(request, Json.MAPPER.readTree(COORDINATOR)));
                of.member.client.pollNoWakeup();
            }
    }

    /**
     * The heartbeat thread's turn: a heartbeat is due. It may first have to find the coordinator.
     */
    private void beat(Process of) throws Exception {
        int unread = of.link.unread().size();
        of.member.clock.sleep(1);
        for (int k = 0; k < MOST_POLLS && of.link.unread().size() == unread; k++) {
            of.member.heartbeatRound();
            of.member.client.pollNoWakeup();
            findCoordinator(of);
        }
    }

    private void commit(Process of) throws Exception {
        int unread = of.link.unread().size();
        of.member.coordinator.commitOffsetsAsync(
                of.member.subscriptions.allConsumed(), (offsets, error) -> { });
        findCoordinator(of);
        if (of.link.unread().size() == unread) of.member.client.pollNoWakeup();
    }

    /**
     * The application asks for the committed offset of a partition, and begins at 0 if there is
     * none.
     */
    private void fetch(Process of, int partition) throws Exception {
        for (int k = 0; k < MOST_POLLS; k++) {
            if (of.member.coordinator.initWithCommittedOffsetsIfNeeded(of.member.clock.timer(0))) {
                break;
            }
            findCoordinator(of);
            if (!of.link.unread().isEmpty()) of.link.deliver();
        }
        TopicPartition watched = new TopicPartition("t", partition);
        if (of.member.subscriptions.position(watched) == null) {
            of.member.subscriptions.seek(watched, 0);
        }
    }

    /**
     * The committed offset of the watched partition; -1 if there is none. It changes only if what
     * is committed of the log changes.
     */
    private long committed() throws Exception {
        if (asked == world.leader() && askedAt == world.log.highWatermark()) return committed;
        OffsetFetchRequestTopics topic = new OffsetFetchRequestTopics()
                .setName("t").setPartitionIndexes(List.of(0));
        OffsetFetchRequestGroup fetch = new OffsetFetchRequestGroup()
                .setGroupId("g").setMemberEpoch(-1).setTopics(List.of(topic));
        CompletableFuture<OffsetFetchResponseGroup> answer = world.leader().service.fetchOffsets(
                WholeLink.context(ApiKeys.OFFSET_FETCH, (short) 9), fetch, false);
        world.clock.drain();
        asked = world.leader();
        askedAt = world.log.highWatermark();
        committed = answer.get().topics().get(0).partitions().get(0).committedOffset();
        return committed;
    }

    /**
     * The group's memory, the committed offset, the records that a fail-over may load, and each
     * member, as JSON. Tabs stand between them: JSON has none, so a reader that has seen a part
     * before need not parse it again.
     */
    private String look() throws Exception {
        ArrayNode logged = Json.MAKE.arrayNode();
        logged.add(records.lastOfGroup(world.log.highWatermark()));
        if (world.log.highWatermark() < world.log.end()) {
            logged.add(records.lastOfGroup(world.log.end()));
        }
        StringBuilder look = new StringBuilder(2000)
                .append(Json.MAPPER.writeValueAsString(memory.of(world.leader(), "g")))
                .append('\t').append(committed())
                .append('\t').append(Json.MAPPER.writeValueAsString(logged));
        Set<Object> held = memory.held(world.leader(), "g");
        for (Process of : processes) {
            ObjectNode member = looks.of(of.member, of.link, of.late);
            member.put("failed", of.failed).put("closing", of.closing)
                    .put("orphaned", of.link.orphaned(held));
            of.member.calls = Json.MAKE.arrayNode();
            look.append('\t').append(Json.MAPPER.writeValueAsString(member));
        }
        return look.toString();
    }
}
