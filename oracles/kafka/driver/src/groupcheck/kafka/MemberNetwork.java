package groupcheck.kafka;

import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.KafkaClient;
import org.apache.kafka.clients.LeastLoadedNode;
import org.apache.kafka.clients.RequestCompletionHandler;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The member's connections: a request waits in `sent` until somebody answers it or breaks the
 * connection. The member sees an answer when it next polls the network, as in life.
 */
final class MemberNetwork implements KafkaClient {
    static final Node BROKER = new Node(0, "broker", 9092);
    /** The connection to the coordinator is another one than the connection to the same broker. */
    static final String COORDINATOR = Integer.toString(Integer.MAX_VALUE - BROKER.id());

    private final MemberClock clock;
    private final Runnable refreshMetadata;
    private final Runnable waiting;
    final Map<Integer, ClientRequest> sent = new LinkedHashMap<>();
    private final List<ClientResponse> answered = new ArrayList<>();
    private int lastNumber;
    /** Whether connections can be made; while they cannot, requests fail before they are sent. */
    boolean up = true;

    /** `waiting` runs each time that the member waits for the network. */
    MemberNetwork(MemberClock clock, Runnable refreshMetadata, Runnable waiting) {
        this.clock = clock;
        this.refreshMetadata = refreshMetadata;
        this.waiting = waiting;
    }

    /** Are there answers that the member has not read? */
    boolean hasAnswers() {
        return !answered.isEmpty();
    }

    void answer(int number, AbstractResponse response) {
        complete(number, response, false);
    }

    /** Breaks the connection to a node: what it still owed an answer gets none. */
    @Override
    public void disconnect(String node) {
        for (ClientRequest request : List.copyOf(sent.values()))
            if (request.destination().equals(node)) complete(request.correlationId(), null, true);
    }

    private void complete(int number, AbstractResponse response, boolean broken) {
        ClientRequest request = sent.remove(number);
        short version = request.requestBuilder().latestAllowedVersion();
        answered.add(new ClientResponse(request.makeHeader(version), request.callback(),
            request.destination(), request.createdTimeMs(), clock.now, broken, null, null, response));
    }

    @Override
    public List<ClientResponse> poll(long timeout, long now) {
        refreshMetadata.run();
        if (answered.isEmpty() && timeout > 0) waiting.run();
        List<ClientResponse> done = List.copyOf(answered);
        answered.clear();
        done.forEach(ClientResponse::onComplete);
        if (done.isEmpty()) clock.sleep(timeout);
        return done;
    }

    @Override
    public void send(ClientRequest request, long now) {
        sent.put(request.correlationId(), request);
    }

    @Override
    public ClientRequest newClientRequest(String node, AbstractRequest.Builder<?> builder,
            long created, boolean expectsAnswer) {
        return newClientRequest(node, builder, created, expectsAnswer, Member.REQUEST_TIMEOUT_MS, null);
    }

    @Override
    public ClientRequest newClientRequest(String node, AbstractRequest.Builder<?> builder,
            long created, boolean expectsAnswer, int timeoutMs, RequestCompletionHandler callback) {
        return new ClientRequest(
            node, builder, ++lastNumber, "c", created, expectsAnswer, timeoutMs, callback);
    }

    @Override
    public boolean isReady(Node node, long now) {
        return up;
    }

    @Override
    public boolean ready(Node node, long now) {
        return up;
    }

    @Override
    public long connectionDelay(Node node, long now) {
        return up ? 0 : 1;
    }

    @Override
    public long pollDelayMs(Node node, long now) {
        return up ? 0 : 1;
    }

    @Override
    public boolean connectionFailed(Node node) {
        return !up;
    }

    @Override
    public AuthenticationException authenticationException(Node node) {
        return null;
    }

    @Override
    public LeastLoadedNode leastLoadedNode(long now) {
        return new LeastLoadedNode(BROKER, up);
    }

    @Override
    public int inFlightRequestCount() {
        return sent.size();
    }

    @Override
    public boolean hasInFlightRequests() {
        return !sent.isEmpty();
    }

    @Override
    public int inFlightRequestCount(String node) {
        return (int) sent.values().stream().filter(r -> r.destination().equals(node)).count();
    }

    @Override
    public boolean hasInFlightRequests(String node) {
        return inFlightRequestCount(node) > 0;
    }

    @Override
    public boolean hasReadyNodes(long now) {
        return up;
    }

    @Override
    public boolean active() {
        return true;
    }

    @Override
    public void close(String node) { }

    @Override
    public void wakeup() { }

    @Override
    public void initiateClose() { }

    @Override
    public void close() { }
}
