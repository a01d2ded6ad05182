package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.protocol.Errors;

import java.io.PrintWriter;
import java.io.StringWriter;

/**
 * Every command by its name. A client's request carries Kafka's name of its API; the rest moves the
 * world around it.
 */
final class Commands {
    private final World world = new World();
    private final Answers answers = new Answers();
    private final GroupRequests groups = new GroupRequests(world, answers);
    private final ConsumerRequests consumers = new ConsumerRequests(world, answers);
    private final OffsetRequests offsets = new OffsetRequests(world, answers);
    private final Memory memory = new Memory(world, answers);
    private final Records records = new Records(world);
    private long seq = -1;

    /**
     * Carries out one command. The reply: seq (the command's number; Reset is 0), now, end and
     * highWatermark of the log, answered (see Answers); after "look": "g" also memory and the
     * records that this command appended. Instead: refused, or failed with a stack trace.
     */
    ObjectNode run(JsonNode command) {
        try {
            return carryOut(command);
        } catch (Refused e) {
            return Json.MAKE.objectNode().put("seq", seq).put("refused", e.getMessage());
        } catch (Throwable t) {
            StringWriter trace = new StringWriter();
            t.printStackTrace(new PrintWriter(trace));
            return Json.MAKE.objectNode().put("seq", seq).put("failed", trace.toString());
        }
    }

    /** Commands one after the other; what does not succeed ends the batch. */
    ArrayNode runAll(JsonNode commands) {
        ArrayNode replies = Json.MAKE.arrayNode();
        for (JsonNode command : commands) {
            ObjectNode reply = run(command);
            replies.add(reply);
            if (reply.has("refused") || reply.has("failed")) break;
        }
        return replies;
    }

    private ObjectNode carryOut(JsonNode command) throws Exception {
        String op = command.path("op").asText();
        if (op.equals("Reset")) {
            seq = -1;
            answers.clear();
            world.reset(command);
        } else if (world.leader() == null) {
            throw new Refused("there is no coordinator yet: begin with Reset");
        }
        seq++;
        answers.startCommand(seq);
        world.clock.startCommand(seq);
        long before = world.log.end();
        Request request = new Request(command, world.broker(command), world.names);
        ObjectNode reply = Json.MAKE.objectNode().put("seq", seq);
        if (!isRequest(op, request) && !isMove(op, command, request.broker)
                && !isQuestion(op, request, reply) && !op.equals("Reset"))
            throw new Refused("there is no command " + op);
        world.clock.drain();
        if (op.equals("JoinGroup") || op.equals("ConsumerGroupHeartbeat")) {
            world.nameNewIds(request.broker);
        }
        reply.put("now", world.clock.now())
                .put("end", world.log.end())
                .put("highWatermark", world.log.highWatermark());
        ArrayNode answered = answers.taken();
        if (!answered.isEmpty()) reply.set("answered", answered);
        if (command.has("look")) {     // a question has its own memory or records
            if (!reply.has("memory")) {
                String group = command.get("look").asText();
                reply.set("memory", memory.of(world.broker(command), group));
            }
            if (!reply.has("records")) {
                reply.set("records", records.since(Math.min(before, world.log.end())));
            }
        }
        return reply;
    }

    private boolean isRequest(String op, Request r) throws Exception {
        switch (op) {
            case "JoinGroup" -> groups.join(r);
            case "SyncGroup" -> groups.sync(r);
            case "Heartbeat" -> groups.heartbeat(r);
            case "LeaveGroup" -> groups.leave(r);
            case "DescribeGroups" -> groups.describe(r);
            case "ListGroups" -> groups.list(r);
            case "DeleteGroups" -> groups.delete(r);
            case "OffsetCommit" -> offsets.commit(r);
            case "TxnOffsetCommit" -> offsets.commitInTransaction(r);
            case "EndTxn" -> offsets.endTransaction(r);
            case "OffsetFetch" -> offsets.fetch(r);
            case "OffsetDelete" -> offsets.delete(r);
            case "ConsumerGroupHeartbeat" -> consumers.heartbeat(r);
            case "ConsumerGroupDescribe" -> consumers.describe(r);
            default -> {
                return false;
            }
        }
        return true;
    }

    private boolean isMove(String op, JsonNode command, Broker broker) throws Exception {
        switch (op) {
            case "Advance" -> world.clock.advance(command.path("ms").asLong());
            case "Fire" -> fire(broker, command.path("timer").asText(),
                    command.path("laterMs").asLong(0));
            case "SetTopics" -> world.setTopics(command.path("topics"));
            case "AutoCommit" -> world.autoCommit(command.path("on").asBoolean(true));
            case "CommitAppends" -> world.commit(command.path("to").asLong(world.log.end()));
            case "FailAppends" -> {
                for (int k = 0; k < command.path("times").asInt(1); k++) {
                    world.log.failNext(error(Json.text(command, "error", "NOT_ENOUGH_REPLICAS")));
                }
            }
            case "Unload" -> broker.resign();
            case "ShutDown" -> broker.shutDown();
            case "Load" -> broker.elect(command.path("hold").asBoolean(false), broker.epoch() + 1);
            case "FinishLoad" -> broker.finishLoad();
            case "FailOver" -> world.failOver(command);
            default -> {
                return false;
            }
        }
        return true;
    }

    private boolean isQuestion(String op, Request r, ObjectNode reply) throws Exception {
        switch (op) {
            case "Look" -> reply.set("memory", memory.of(r.broker, r.group()));
            case "LookAfterReload" ->
                    reply.set("memory", memory.of(world.shadow(r.json), r.group()));
            case "ReadLog" -> reply.set("records", records.since(r.number("since", 0)));
            default -> {
                return false;
            }
        }
        return true;
    }

    private static Errors error(String name) {
        try {
            return Errors.valueOf(name);
        } catch (IllegalArgumentException e) {
            throw new Refused("Kafka has no error " + name);
        }
    }

    private void fire(Broker broker, String timer, long laterMs) {
        Clock.Due due = broker.armed().get(timer);
        if (due == null) {
            throw new Refused(
                    "no timer " + timer + " is armed, but " + broker.armed().keySet());
        }
        world.clock.later(laterMs, () -> broker.timers.fire(due));
    }
}
