package groupcheck.kafka;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.protocol.Errors;

import java.util.IdentityHashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;

/** Requests are numbered by their command; an answer is noted in the command during which it is given, be it a later one. */
final class Answers {
    private ArrayNode given = Json.MAKE.arrayNode();
    private final Map<Object, Long> waiting = new IdentityHashMap<>();
    private long round;
    private long command;

    /** Answers to requests of before no longer count. */
    void clear() {
        given = Json.MAKE.arrayNode();
        waiting.clear();
        round++;
    }

    void startCommand(long number) {
        command = number;
    }

    /** Notes the answer when it comes; `put` says what is in it. A request that failed has the code that its client would see. */
    <T> void expect(CompletableFuture<T> answer, BiConsumer<T, ObjectNode> put) {
        long asked = command, asRound = round;
        if (!answer.isDone()) waiting.put(answer, asked);
        answer.whenComplete((value, failure) -> {
            if (asRound != round) return;
            waiting.remove(answer);
            ObjectNode noted = given.addObject().put("seq", asked);
            if (failure == null) put.accept(value, noted);
            else {
                Throwable cause = Errors.maybeUnwrapException(failure);
                noted.put("error", Errors.forException(cause).code()).put("exception", String.valueOf(cause.getMessage()));
            }
        });
    }

    /** The number of the request that waits for this future; null if there is none. */
    Long number(Object future) {
        return waiting.get(future);
    }

    /** What was answered since the last call. */
    ArrayNode taken() {
        ArrayNode taken = given;
        given = Json.MAKE.arrayNode();
        return taken;
    }
}
