package groupcheck.connect;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BinaryNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.KafkaClient;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.requests.AbstractResponse;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A worker's connections. A request is answered when the worker next polls, with the first answer
 * for its API in the script; without one it waits. The coordinator is found at once unless it is
 * away.
 */
final class Network {
    private static final Node BROKER = new Node(0, "broker", 9092);
    private static final String MESSAGES = "org.apache.kafka.common.message.";
    private static final String RESPONSES = "org.apache.kafka.common.requests.";

    private final Worker worker;
    private final Map<Integer, ClientRequest> waiting = new LinkedHashMap<>();
    private int lastNumber;
    final List<JsonNode> script = new ArrayList<>();
    /** What was sent since the last look: [["JoinGroup", {...}]]. */
    ArrayNode sent = Main.MAKE.arrayNode();
    /** When the coordinator can be found again. */
    long awayUntil;

    Network(Worker worker) {
        this.worker = worker;
    }

    KafkaClient client() {
        return Kafka.proxy(KafkaClient.class, this::on);
    }

    private Object on(Method method, Object[] arguments) throws Exception {
        switch (method.getName()) {
            case "poll":
                return poll((Long) arguments[0]);
            case "newClientRequest":
                return Kafka.longest(ClientRequest.class).newInstance(
                        arguments[0], arguments[1], ++lastNumber, "c", arguments[2], arguments[3],
                        arguments.length > 4 ? arguments[4] : (Object) 30_000,
                        arguments.length > 5 ? arguments[5] : null);
            case "send":
                send((ClientRequest) arguments[0]);
                return null;
            case "leastLoadedNode":
                return method.getReturnType() == Node.class ? BROKER
                        : Kafka.longest(method.getReturnType()).newInstance(BROKER, true);
            case "inFlightRequestCount":
                return waiting.size();
            case "connectionDelay":
            case "pollDelayMs":
                return 0L;
            case "connectionFailed":
            case "hasInFlightRequests":
                return false;
            default:
                return method.getReturnType() == boolean.class ? true : null;
        }
    }

    private void send(ClientRequest request) throws Exception {
        waiting.put(request.correlationId(), request);
        String api = request.apiKey().name;
        if (!api.equals("FindCoordinator")) sent.addArray().add(api).add(shown(request, api));
    }

    private List<ClientResponse> poll(long timeout) throws Exception {
        worker.refreshMetadata();
        List<ClientResponse> done = new ArrayList<>();
        for (ClientRequest request : List.copyOf(waiting.values())) {
            JsonNode data = answerTo(request.apiKey().name);
            if (data == null) continue;
            waiting.remove(request.correlationId());
            short version = request.requestBuilder().latestAllowedVersion();
            done.add(new ClientResponse(request.makeHeader(version), request.callback(),
                    request.destination(), request.createdTimeMs(), worker.now, false, null, null,
                    response(request.apiKey().name, data, version)));
        }
        done.forEach(ClientResponse::onComplete);
        if (done.isEmpty()) {
            worker.now += timeout;
            // Whoever waits for an answer that is not in the script waits for ever.
            if (timeout > 0 && !waiting.isEmpty()) worker.wakeUp();
        }
        return done;
    }

    private JsonNode answerTo(String api) {
        if (api.equals("FindCoordinator")) {
            ObjectNode found = Main.MAKE.objectNode();
            found.putArray("coordinators").addObject().put("key", "g").put("nodeId", 0)
                    .put("host", "broker").put("port", 9092)
                    .put("errorCode", worker.now < awayUntil ? 15 : 0)
                    .putNull("errorMessage");
            return found;
        }
        for (JsonNode answer : script)
            if (answer.get(0).asText().equals(api)) {
                script.remove(answer);
                return answer.get(1);
            }
        return null;
    }

    /** An answer with the fields given, and Kafka's defaults for all others. */
    private static AbstractResponse response(String api, JsonNode given, short version)
            throws Exception {
        Class<?> type = Class.forName(MESSAGES + api + "ResponseData");
        Class<?> converter = Class.forName(MESSAGES + api + "ResponseDataJsonConverter");
        Object plain = type.getConstructor().newInstance();
        ObjectNode all = (ObjectNode) converter.getMethod("write", type, short.class)
                .invoke(null, plain, version);
        all.setAll((ObjectNode) given.deepCopy());
        for (JsonNode member : all.path("members")) {
            JsonNode told = member.get("metadata");
            ((ObjectNode) member).putNull("groupInstanceId").set("metadata",
                    BinaryNode.valueOf(Values.metadata(told, given.get("protocolName").asText())));
        }
        if (all.path("assignment").isArray()) {
            all.set("assignment", BinaryNode.valueOf(Values.bytes(
                    all.get("assignment"), given.get("protocolName").asText())));
        }
        Object data = converter.getMethod("read", JsonNode.class, short.class)
                .invoke(null, all, version);
        Constructor<?> make = Kafka.longest(Class.forName(RESPONSES + api + "Response"));
        return (AbstractResponse) (make.getParameterCount() == 1
                ? make.newInstance(data) : make.newInstance(data, version));
    }

    /** JoinGroup as {memberId, protocols: {name: state}}, SyncGroup with {worker: answer}. */
    private static ObjectNode shown(ClientRequest request, String api) throws Exception {
        short version = request.requestBuilder().latestAllowedVersion();
        Object built = request.requestBuilder().build(version);
        Object data = Kafka.call(built, built.getClass(), "data");
        Class<?> converter = Class.forName(MESSAGES + api + "RequestDataJsonConverter");
        JsonNode all = (JsonNode) converter.getMethod("write", data.getClass(), short.class)
                .invoke(null, data, version);
        ObjectNode shown = Main.MAKE.objectNode();
        for (String field : List.of("memberId", "generationId"))
            if (all.has(field)) shown.set(field, all.get(field));
        if (all.has("protocols")) {
            ObjectNode protocols = shown.putObject("protocols");
            for (JsonNode protocol : all.get("protocols"))
                protocols.set(protocol.get("name").asText(), Values.state(
                        ByteBuffer.wrap(protocol.get("metadata").binaryValue())));
        }
        if (all.has("assignments")) {
            ObjectNode assignments = shown.putObject("assignments");
            for (JsonNode one : all.get("assignments"))
                assignments.set(one.get("memberId").asText(), Values.answer(
                        ByteBuffer.wrap(one.get("assignment").binaryValue())));
        }
        return shown;
    }
}
