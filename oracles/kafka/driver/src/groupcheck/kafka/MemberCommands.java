package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;

/** The commands to one member. `reset` makes a fresh one. */
final class MemberCommands implements Member.Listening {
    private Member member;
    /** Callback -> what the application does in it. */
    private final Map<String, JsonNode> callbacks = new HashMap<>();
    /** What happens, one command at a time, whenever the member waits. */
    private Deque<JsonNode> waits = new ArrayDeque<>();
    private ObjectNode reply;

    /**
     * Carries out one command. The reply has what the command returned (`ready`) or threw to the
     * application (`thrown`) and, unless the command is `quiet`, a look (see MemberLook). Instead:
     * refused, or failed with a stack trace.
     */
    ObjectNode run(JsonNode command) {
        reply = Json.MAKE.objectNode();
        try {
            waits = queue(command.path("waits"));
            if (command.path("op").asText().equals("reset")) {
                callbacks.clear();
                member = new Member(command, this);
            } else if (member == null) {
                throw new Refused("there is no member yet: begin with reset");
            } else {
                application(command);
            }
            if (!command.path("quiet").asBoolean()) new MemberLook(member).into(reply);
            return reply;
        } catch (Refused e) {
            return Json.MAKE.objectNode().put("refused", e.getMessage());
        } catch (Throwable t) {
            StringWriter trace = new StringWriter();
            t.printStackTrace(new PrintWriter(trace));
            return Json.MAKE.objectNode().put("failed", trace.toString());
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

    private static Deque<JsonNode> queue(JsonNode commands) {
        Deque<JsonNode> queue = new ArrayDeque<>();
        commands.forEach(queue::add);
        return queue;
    }

    /** What a command throws is thrown to the application, and noted. */
    private void application(JsonNode command) throws Exception {
        try {
            carryOut(command);
        } catch (Refused | Unexpected e) {
            throw e;
        } catch (Exception e) {
            Throwable thrown = e instanceof java.lang.reflect.InvocationTargetException
                    ? e.getCause() : e;
            reply.putObject("thrown").put("type", thrown.getClass().getSimpleName())
                    .put("message", String.valueOf(thrown.getMessage()))
                    .put("error", Errors.forException(thrown).code());
        } finally {
            member.keepThread();
        }
    }

    private void carryOut(JsonNode command) throws Exception {
        switch (command.path("op").asText()) {
            case "poll" -> reply.put("ready",
                    member.coordinator.poll(member.clock.timer(ms(command)), false));
            case "network" -> member.client.pollNoWakeup();
            case "heartbeat" -> member.heartbeatRound();
            case "advance" -> member.clock.sleep(ms(command));
            case "answer" -> {
                int number = number(command);
                member.network.answer(number, MemberRequests.answer(
                        member.network.sent.get(number), command.path("data")));
            }
            case "disconnect" -> {
                if (!command.path("node").asText().equals("any")) {
                    member.network.disconnect(MemberNetwork.COORDINATOR);
                }
                if (!command.path("node").asText().equals("coordinator")) {
                    member.network.disconnect(MemberNetwork.BROKER.idString());
                }
            }
            case "connections" -> member.network.up = command.path("up").asBoolean();
            case "fetchOffsets" -> reply.put("ready",
                    member.coordinator.initWithCommittedOffsetsIfNeeded(
                            member.clock.timer(ms(command))));
            case "position" -> member.subscriptions.seek(
                    new TopicPartition(
                            Json.text(command, "topic", "t"), command.path("partition").asInt()),
                    command.path("offset").asLong());
            case "commitSync" -> reply.put("ready",
                    member.coordinator.commitOffsetsSync(
                            member.subscriptions.allConsumed(), member.clock.timer(ms(command))));
            case "commitAsync" -> member.coordinator.commitOffsetsAsync(
                    member.subscriptions.allConsumed(), this::committed);
            case "unsubscribe" -> {
                member.coordinator.onLeavePrepare();
                MemberVersions.leave(
                        member.coordinator, "the consumer unsubscribed from all topics");
                member.subscriptions.unsubscribe();
            }
            case "subscribe" -> member.subscribe(Json.texts(command.get("topics")));
            case "topics" -> member.setTopics(command.path("topics"));
            case "leave" -> MemberVersions.leave(
                    member.coordinator, Json.text(command, "reason", "told"));
            case "rejoin" -> member.coordinator.requestRejoin(Json.text(command, "reason", "told"));
            case "close" -> member.close(ms(command), Json.text(command, "how", "DEFAULT"));
            case "callback" -> callbacks.put(command.path("on").asText(), command);
            default -> throw new Refused("there is no command " + command.path("op").asText());
        }
    }

    private static long ms(JsonNode command) {
        return command.path("ms").asLong();
    }

    private void committed(Map<TopicPartition, OffsetAndMetadata> offsets, Exception error) {
        ObjectNode call = member.calls.addObject().put("call", "commitCallback");
        call.set("offsets", MemberLook.offsets(offsets));
        if (error != null) call.put("thrown", error.getClass().getSimpleName());
    }

    /** The request that is meant: the one with the number, or the oldest one of the API. */
    private int number(JsonNode command) {
        if (command.has("n") && member.network.sent.containsKey(command.get("n").asInt())) {
            return command.get("n").asInt();
        }
        for (ClientRequest request : member.network.sent.values())
            if (!command.has("n")
                    && request.apiKey().name.equals(command.path("api").asText())) {
                return request.correlationId();
            }
        throw new Refused("no request waits that is "
                + (command.has("n") ? command.get("n") : command.path("api").asText()));
    }

    @Override
    public void during(String callback) {
        JsonNode told = callbacks.get(callback);
        if (told == null) return;
        Deque<JsonNode> outer = waits;
        for (JsonNode command : told.path("during")) nested(command);
        waits = outer;
        if (told.path("throws").asBoolean()) throw new IllegalStateException("the callback throws");
    }

    @Override
    public void waiting() {
        JsonNode next = waits.poll();
        if (next != null) nested(next);
    }

    /**
     * Carries out a command inside another one. What the member throws there goes through the
     * callback, as an application's exception would.
     */
    private void nested(JsonNode command) {
        if (command.has("waits")) waits = queue(command.get("waits"));
        try {
            carryOut(command);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new Unexpected(e);
        }
    }

    private static final class Unexpected extends RuntimeException {
        Unexpected(Exception cause) {
            super(cause);
        }
    }
}
