package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.message.DescribeGroupsResponseData.DescribedGroup;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocolCollection;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.ListGroupsRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData.SyncGroupRequestAssignment;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.utils.BufferSupplier;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The requests of the classic protocol, and those of administrators about any group. */
final class GroupRequests {
    private final World world;
    private final Answers answers;

    GroupRequests(World world, Answers answers) {
        this.world = world;
        this.answers = answers;
    }

    void join(Request r) throws Exception {
        JoinGroupRequestData data = new JoinGroupRequestData()
                .setGroupId(r.group())
                .setMemberId(r.member())
                .setGroupInstanceId(r.instance())
                .setSessionTimeoutMs(r.number("sessionTimeoutMs", 10_000))
                .setRebalanceTimeoutMs(r.number("rebalanceTimeoutMs", 30_000))
                .setProtocolType(r.text("type", "consumer"))
                .setProtocols(protocols(r))
                .setReason(r.text("reason", null));
        answers.expect(
                r.broker.service.joinGroup(
                        r.context(ApiKeys.JOIN_GROUP, 9), data, BufferSupplier.NO_CACHING),
                this::joined);
    }

    /**
     * Each protocol with the consumer's subscription as metadata, or with the raw text given for
     * it.
     */
    private static JoinGroupRequestProtocolCollection protocols(Request r) {
        String user = r.text("userData", null);
        List<String> topics = r.json.has("topics")
                ? Json.texts(r.json.get("topics")) : List.of("t");
        ByteBuffer subscription = ConsumerProtocol.serializeSubscription(new Subscription(topics,
                user == null ? null : ByteBuffer.wrap(user.getBytes(StandardCharsets.UTF_8)),
                Json.partitions(r.json.get("owned")), r.number("ownedGeneration", -1),
                Optional.ofNullable(r.text("rack", null))));
        JoinGroupRequestProtocolCollection protocols = new JoinGroupRequestProtocolCollection();
        JsonNode names = r.json.has("protocols")
                ? r.json.get("protocols") : Json.MAKE.arrayNode().add("range");
        for (JsonNode name : names) {
            JsonNode raw = r.json.path("raw").get(name.asText());
            byte[] metadata = raw == null
                    ? Json.bytes(subscription) : raw.asText().getBytes(StandardCharsets.UTF_8);
            protocols.add(new JoinGroupRequestProtocol()
                    .setName(name.asText()).setMetadata(metadata));
        }
        return protocols;
    }

    private void joined(JoinGroupResponseData answer, ObjectNode into) {
        into.put("error", answer.errorCode())
                .put("generation", answer.generationId())
                .put("type", answer.protocolType())
                .put("protocol", answer.protocolName())
                .put("leader", world.names.shown(answer.leader()))
                .put("member", world.names.shown(answer.memberId()))
                .put("skipAssignment", answer.skipAssignment());
        ArrayNode members = into.putArray("members");
        for (JoinGroupResponseData.JoinGroupResponseMember m : answer.members()) {
            ObjectNode member = members.addObject()
                    .put("member", world.names.shown(m.memberId()))
                    .put("instance", m.groupInstanceId());
            Json.subscription(member, m.metadata());
        }
    }

    void sync(Request r) throws Exception {
        SyncGroupRequestData data = new SyncGroupRequestData()
                .setGroupId(r.group())
                .setMemberId(r.member())
                .setGroupInstanceId(r.instance())
                .setGenerationId(r.number("generation", -1))
                .setProtocolType(r.text("type", null))
                .setProtocolName(r.text("protocol", null));
        r.json.path("assignments").properties().forEach(e -> {
            Assignment assigned = new Assignment(Json.partitions(e.getValue()));
            data.assignments().add(new SyncGroupRequestAssignment()
                    .setMemberId(world.names.real(e.getKey()))
                    .setAssignment(Json.bytes(ConsumerProtocol.serializeAssignment(assigned))));
        });
        var synced = r.broker.service.syncGroup(
                r.context(ApiKeys.SYNC_GROUP, 5), data, BufferSupplier.NO_CACHING);
        answers.expect(synced, (answer, into) -> into
                .put("error", answer.errorCode())
                .put("type", answer.protocolType())
                .put("protocol", answer.protocolName())
                .set("assigned", Json.assignment(answer.assignment())));
    }

    void heartbeat(Request r) throws Exception {
        HeartbeatRequestData data = new HeartbeatRequestData()
                .setGroupId(r.group())
                .setMemberId(r.member())
                .setGroupInstanceId(r.instance())
                .setGenerationId(r.number("generation", -1));
        answers.expect(
                r.broker.service.heartbeat(r.context(ApiKeys.HEARTBEAT, 4), data),
                (answer, into) -> into.put("error", answer.errorCode()));
    }

    void leave(Request r) throws Exception {
        List<MemberIdentity> leaving = new ArrayList<>();
        JsonNode members = r.json.has("members")
                ? r.json.get("members") : Json.MAKE.arrayNode().add(r.json);
        for (JsonNode m : members)
            leaving.add(new MemberIdentity()
                    .setMemberId(world.names.real(Json.text(m, "member", "")))
                    .setGroupInstanceId(Json.text(m, "instance", null))
                    .setReason(Json.text(m, "reason", null)));
        LeaveGroupRequestData data = new LeaveGroupRequestData()
                .setGroupId(r.group()).setMembers(leaving);
        var left = r.broker.service.leaveGroup(r.context(ApiKeys.LEAVE_GROUP, 5), data);
        answers.expect(left, (answer, into) -> {
            into.put("error", answer.errorCode());
            ArrayNode errors = into.putArray("members");
            answer.members().forEach(m -> errors.add(m.errorCode()));
        });
    }

    void describe(Request r) throws Exception {
        var described = r.broker.service.describeGroups(
                r.context(ApiKeys.DESCRIBE_GROUPS, 6), List.of(r.group()));
        answers.expect(described, (answer, into) -> {
            DescribedGroup group = answer.get(0);
            into.put("error", group.errorCode())
                    .put("state", group.groupState())
                    .put("type", group.protocolType())
                    .put("protocol", group.protocolData());
            ArrayNode members = into.putArray("members");
            group.members().forEach(m -> members.addObject()
                    .put("member", world.names.shown(m.memberId()))
                    .put("instance", m.groupInstanceId())
                    .set("assigned", Json.assignment(m.memberAssignment())));
        });
    }

    void list(Request r) throws Exception {
        var groupsListed = r.broker.service.listGroups(
                r.context(ApiKeys.LIST_GROUPS, 5), listed(r));
        answers.expect(groupsListed, (answer, into) -> {
            into.put("error", answer.errorCode());
            ArrayNode groups = into.putArray("groups");
            answer.groups().forEach(g -> groups.addObject()
                    .put("group", g.groupId())
                    .put("state", g.groupState())
                    .put("kind", g.groupType()));
        });
    }

    private static ListGroupsRequestData listed(Request r) {
        ListGroupsRequestData data = new ListGroupsRequestData();
        if (r.json.has("states")) data.setStatesFilter(Json.texts(r.json.get("states")));
        if (r.json.has("types")) data.setTypesFilter(Json.texts(r.json.get("types")));
        return data;
    }

    void delete(Request r) throws Exception {
        var deleted = r.broker.service.deleteGroups(
                r.context(ApiKeys.DELETE_GROUPS, 2), List.of(r.group()), BufferSupplier.NO_CACHING);
        answers.expect(deleted, (answer, into) ->
                answer.forEach(group -> into.put("error", group.errorCode())));
    }
}
