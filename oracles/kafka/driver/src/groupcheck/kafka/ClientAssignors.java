package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The assignors that run in a leader. What a member claims to own goes where that assignor looks for it: its user data, or the subscription. */
final class ClientAssignors {
    private ClientAssignors() { }

    static Map<String, List<TopicPartition>> assign(String name, JsonNode problem) {
        Map<String, Subscription> subscriptions = new LinkedHashMap<>();
        problem.path("members").properties().forEach(e -> subscriptions.put(e.getKey(), subscription(name, e.getKey(), e.getValue())));
        Map<String, List<TopicPartition>> assignment = new HashMap<>();
        fresh(name).assign(cluster(problem), new GroupSubscription(subscriptions)).groupAssignment()
            .forEach((member, a) -> assignment.put(member, a.partitions()));
        return assignment;
    }

    private static ConsumerPartitionAssignor fresh(String name) {
        return switch (name) {
            case "range" -> new RangeAssignor();
            case "roundrobin" -> new RoundRobinAssignor();
            case "sticky" -> new StickyAssignor();
            default -> new CooperativeStickyAssignor();
        };
    }

    /** The subscription as the leader gets it, through the bytes of the consumer protocol. "told": its own generation, if not that of the claim. */
    private static Subscription subscription(String name, String member, JsonNode given) {
        List<String> topics = Json.texts(given.path("topics"));
        List<TopicPartition> owned = Json.partitions(given.get("owned"));
        int generation = given.path("generation").asInt(-1);
        ByteBuffer user = null;
        if (generation >= 0 && (name.equals("sticky") || name.equals("cooperative-sticky"))) {     // made by the member's own assignor
            ConsumerPartitionAssignor own = fresh(name);
            own.onAssignment(new Assignment(owned), new ConsumerGroupMetadata("g", generation, member, Optional.empty()));
            user = own.subscriptionUserData(new HashSet<>(topics));
        }
        int told = given.path("told").asInt(generation);
        Subscription sent = new Subscription(topics, user, name.equals("sticky") ? List.of() : owned, told,
            Optional.ofNullable(Json.text(given, "rack", null)));
        Subscription received = ConsumerProtocol.deserializeSubscription(ConsumerProtocol.serializeSubscription(sent));
        received.setGroupInstanceId(Optional.ofNullable(Json.text(given, "instance", null)));
        return received;
    }

    private static Cluster cluster(JsonNode problem) {
        List<PartitionInfo> partitions = new ArrayList<>();
        problem.path("topics").properties().forEach(e -> {
            for (int p = 0; p < e.getValue().asInt(); p++) {
                JsonNode racks = problem.path("racks").path(e.getKey()).path(p);
                Node[] replicas = new Node[Math.max(1, racks.size())];
                for (int k = 0; k < replicas.length; k++) replicas[k] = new Node(k, "broker", 1, racks.has(k) ? racks.get(k).asText() : null);
                partitions.add(new PartitionInfo(e.getKey(), p, replicas[0], replicas, replicas));
            }
        });
        return new Cluster("cluster", List.of(new Node(0, "broker", 1)), partitions, Set.of(), Set.of());
    }
}
