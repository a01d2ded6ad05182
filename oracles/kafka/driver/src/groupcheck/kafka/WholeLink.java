package groupcheck.kafka;

import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.network.ClientInformation;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.requests.RequestContext;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.coordinator.group.GroupCoordinatorService;

import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * The connection of one member to the coordinator, as a broker serves it: one request at a time, in
 * the order in which they were sent. What the member has sent stands in its network's `sent`.
 */
final class WholeLink {
    private final World world;
    private final Member member;
    /**
     * The number of the request that the coordinator has and has not answered; 0 if there is none.
     */
    private int outstanding;

    /** A request that is held up on a connection that is gone. */
    record Late(ApiKeys api, short version, ApiMessage data) { }

    WholeLink(World world, Member member) {
        this.world = world;
        this.member = member;
    }

    /** The requests that the broker has not read yet, in their order. */
    List<ClientRequest> unread() {
        List<ClientRequest> unread = new ArrayList<>();
        for (ClientRequest request : member.network.sent.values())
            if (request.destination().equals(MemberNetwork.COORDINATOR)
                    && request.correlationId() != outstanding) {
                unread.add(request);
            }
        return unread;
    }

    ClientRequest outstanding() {
        return outstanding == 0 ? null : member.network.sent.get(outstanding);
    }

    private ClientRequest next() {
        List<ClientRequest> unread = unread();
        if (unread.isEmpty()) {
            throw new Refused("the connection has no request that the broker has not read");
        }
        return unread.get(0);
    }

    /** The broker reads the next request, unless it still owes an answer. */
    void deliver() throws Exception {
        if (outstanding != 0) throw new Refused("the broker still owes the connection an answer");
        ClientRequest request = next();
        int number = request.correlationId();
        outstanding = number;
        Late sent = copy(request);
        ask(sent).whenComplete((answer, failure) -> {
            if (outstanding != number) return;     // the connection is gone
            outstanding = 0;
            if (failure != null) throw new IllegalStateException(failure);
            try {
                member.network.answer(
                        number, MemberVersions.parsed(sent.api, answer, sent.version));
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        after();
    }

    /** The connection breaks: nothing of it is answered any more. */
    void cut() {
        outstanding = 0;
        member.network.disconnect(MemberNetwork.COORDINATOR);
    }

    /** The next request is taken from the connection, which breaks. */
    Late take() {
        Late taken = copy(next());
        cut();
        return taken;
    }

    /** The broker reads a request of a connection that is gone. */
    void handle(Late late) throws Exception {
        ask(late);
        after();
    }

    private void after() {
        world.clock.drain();
        world.nameNewIds(world.leader());
    }

    static Late copy(ClientRequest request) {
        short version = request.requestBuilder().latestAllowedVersion();
        return new Late(request.apiKey(), version, request.requestBuilder().build(version).data());
    }

    private CompletableFuture<? extends ApiMessage> ask(Late request) throws Exception {
        RequestContext from = context(request.api, request.version);
        GroupCoordinatorService service = world.leader().service;
        return switch (request.api) {
            case JOIN_GROUP -> service.joinGroup(
                    from, (JoinGroupRequestData) request.data, BufferSupplier.NO_CACHING);
            case SYNC_GROUP -> service.syncGroup(
                    from, (SyncGroupRequestData) request.data, BufferSupplier.NO_CACHING);
            case HEARTBEAT -> service.heartbeat(from, (HeartbeatRequestData) request.data);
            case LEAVE_GROUP -> service.leaveGroup(from, (LeaveGroupRequestData) request.data);
            case OFFSET_COMMIT -> service.commitOffsets(
                    from, (OffsetCommitRequestData) request.data, BufferSupplier.NO_CACHING);
            case OFFSET_FETCH -> {
                OffsetFetchRequestData fetch = (OffsetFetchRequestData) request.data;
                yield service.fetchOffsets(from, fetch.groups().get(0), false)
                        .thenApply(group ->
                                new OffsetFetchResponseData().setGroups(List.of(group)));
            }
            default -> throw new IllegalStateException("nobody answers " + request.api);
        };
    }

    static RequestContext context(ApiKeys api, short version) {
        RequestHeader header = new RequestHeader(api, version, "c", 0);
        return new RequestContext(
                header, "1", InetAddress.getLoopbackAddress(), KafkaPrincipal.ANONYMOUS,
                ListenerName.forSecurityProtocol(SecurityProtocol.PLAINTEXT),
                SecurityProtocol.PLAINTEXT, ClientInformation.EMPTY, false);
    }
}
