package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.ClientRequest;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * The commands to members of a consumer group (KIP-848), each its own process, and to the
 * coordinator that they may have. `reset` makes fresh ones.
 */
final class AsyncCommands {
    private static final JsonNode FOUND = Json.MAKE.objectNode();
    // How often the background goes round until it has found the coordinator.
    private static final int MOST_ROUNDS = 6;

    private final World world = new World();
    private final Commands coordinator = new Commands(world);
    private final AsyncAnswers answers = new AsyncAnswers(world.topics);
    private final List<Process> processes = new ArrayList<>();
    private SplittableRandom random = SeededRandom.current();

    /** A member's process and its connection to the coordinator. */
    private static final class Process {
        final ObjectNode options;
        AsyncMember member;
        WholeLink link;
        WholeLink.Late late;
        /** How many member ids it has had. */
        int ids;

        Process(ObjectNode options) {
            this.options = options;
        }
    }

    /**
     * Carries out one command. The reply has what the application's call threw (`thrown`) and,
     * unless the command is `quiet`, a look (see AsyncLook). Instead: refused, or failed with a
     * stack trace.
     */
    ObjectNode run(JsonNode command) {
        ObjectNode reply = Json.MAKE.objectNode();
        SeededRandom.use(random);
        try {
            String op = command.path("op").asText();
            if (op.equals("reset")) reset(command);
            else if (processes.isEmpty()) throw new Refused("begin with reset");
            if (op.equals("coordinator")) return coordinator.run(command.path("do"));
            Process of = processes.get(command.path("i").asInt());
            if (!op.equals("reset")) carryOut(op, command, of);
            Throwable thrown = of.member.application.thrown();
            if (thrown instanceof Refused refused) throw refused;
            if (thrown != null) {
                reply.putObject("thrown").put("type", thrown.getClass().getSimpleName())
                        .put("message", String.valueOf(thrown.getMessage()));
            }
            if (!command.path("quiet").asBoolean()) new AsyncLook(of.member).into(reply);
            return reply;
        } catch (Refused e) {
            return Json.MAKE.objectNode().put("refused", e.getMessage());
        } catch (Throwable t) {
            StringWriter trace = new StringWriter();
            t.printStackTrace(new PrintWriter(trace));
            return Json.MAKE.objectNode().put("failed", trace.toString());
        } finally {
            random = SeededRandom.current();
        }
    }

    /** Commands one after the other; what cannot be carried out ends the batch. */
    ArrayNode runAll(JsonNode commands) {
        ArrayNode replies = Json.MAKE.arrayNode();
        for (JsonNode command : commands) {
            ObjectNode reply = run(command);
            replies.add(reply);
            if (reply.has("refused") || reply.has("failed")) break;
        }
        return replies;
    }

    private void reset(JsonNode command) throws Exception {
        for (Process gone : processes) gone.member.abandon();
        processes.clear();
        coordinator.run(((ObjectNode) command.deepCopy()).put("op", "Reset"));
        if (!command.has("members")) {
            start(command);
            return;
        }
        for (JsonNode member : command.get("members")) start(member);
    }

    private void start(JsonNode member) throws Exception {
        Process process = new Process((ObjectNode) member.deepCopy());
        if (!member.has("topics")) {
            ObjectNode topics = process.options.putObject("topics");
            world.topics.sizes().forEach(topics::put);
        }
        processes.add(process);
        restart(process);
    }

    /** Another process in the place of one that is gone, whose requests nobody waits for now. */
    private void restart(Process of) throws Exception {
        if (of.member != null) {
            of.link.cut();
            of.member.abandon();
        }
        String id = "a" + processes.indexOf(of) + (of.ids == 0 ? "" : "-" + of.ids);
        of.ids++;
        of.options.put("id", id);
        world.names.real(id);
        of.member = new AsyncMember(of.options, world.topics);
        of.link = new WholeLink(world, of.member.network);
    }

    private void carryOut(String op, JsonNode command, Process of) throws Exception {
        AsyncMember member = of.member;
        member.application.forget();
        if (command.has("hold")) member.hold(command.get("hold"));
        switch (op) {
            case "subscribe" -> member.subscribe(
                    Json.texts(command.get("topics")), Json.text(command, "regex", null));
            case "poll" -> member.poll();
            case "return" -> member.application.goOn(command.path("throws").asBoolean());
            case "look again" -> {
                if (member.application.waits().equals("waits")) member.application.goOn(false);
            }
            case "unsubscribe" -> member.unsubscribe();
            case "commit" -> member.commit(
                    command.path("topic").asText(), command.path("offset").asLong());
            case "close" -> member.close(Json.text(command, "operation", "DEFAULT"));
            case "background" -> background(member, command.path("find").asBoolean(true));
            case "part" -> member.part(command.path("name").asText());
            case "advance" -> member.clock.sleep(command.path("ms").asLong());
            case "answer" -> answer(member, asked(member, command), command);
            case "restart" -> restart(of);
            case "deliver" -> deliver(of.link);
            case "flush" -> {
                while (!of.link.unread().isEmpty()) of.link.deliver();
            }
            case "take" -> {
                of.late = of.link.take();
                if (!command.path("keep").asBoolean()) late(of);
            }
            case "late" -> late(of);
            case "cut" -> of.link.cut();
            case "lose" -> {
                of.link.cut();
                of.member.network.lose(MemberNetwork.COORDINATOR);
            }
            case "look" -> { }
            default -> throw new Refused("there is no command " + op);
        }
    }

    /** The coordinator reads what was sent, up to a heartbeat. */
    private static void deliver(WholeLink link) throws Exception {
        for (boolean read = false; !read; ) {
            List<ClientRequest> unread = link.unread();
            read = unread.isEmpty() || unread.get(0).apiKey().name.equals("ConsumerGroupHeartbeat");
            link.deliver();
        }
    }

    /** The coordinator reads a request of a connection that is gone. */
    private static void late(Process of) throws Exception {
        if (of.late == null) throw new Refused("no request is late");
        WholeLink.Late late = of.late;
        of.late = null;
        of.link.handle(late);
    }

    /** One round of the background; more until the coordinator is found, if it is looked for. */
    private void background(AsyncMember member, boolean find) throws Exception {
        member.round();
        for (int k = 0; find && k < MOST_ROUNDS; k++) {
            boolean found = false;
            for (ClientRequest request : List.copyOf(member.network.sent.values()))
                if (request.apiKey().name.equals("FindCoordinator")) {
                    answer(member, request, FOUND);
                    found = true;
                }
            if (!found) return;
            member.round();
        }
    }

    private void answer(AsyncMember member, ClientRequest asked, JsonNode given) throws Exception {
        member.network.answer(asked.correlationId(), MemberVersions.parsed(
                asked.apiKey(), answers.answer(asked, given),
                asked.requestBuilder().latestAllowedVersion()));
    }

    /** The request of this number, or the oldest one of this API. */
    private static ClientRequest asked(AsyncMember member, JsonNode command) {
        String api = Json.text(command, "api", "ConsumerGroupHeartbeat");
        for (ClientRequest request : member.network.sent.values()) {
            boolean meant = command.has("number")
                    ? request.correlationId() == command.get("number").asInt()
                    : request.apiKey().name.equals(api);
            if (meant) return request;
        }
        throw new Refused("the member waits for no answer to " + api);
    }
}
