package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The assignors of KIP-848, which run in the coordinator. `owned` is a member's previous target assignment. */
final class ServerAssignors {
    private final Topics topics = new Topics();
    private final Map<Uuid, Integer> sizes = new HashMap<>();
    private final Map<String, MemberSubscriptionAndAssignmentImpl> members = new HashMap<>();
    private final Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
    private final Set<Set<Uuid>> subscriptions = new HashSet<>();

    private ServerAssignors(JsonNode problem) {
        problem.path("topics").properties().forEach(e -> sizes.put(topics.id(e.getKey()), e.getValue().asInt()));
        problem.path("members").properties().forEach(e -> add(e.getKey(), e.getValue()));
    }

    static Map<String, List<TopicPartition>> assign(String name, JsonNode problem) {
        ServerAssignors group = new ServerAssignors(problem);
        SubscriptionType type = group.subscriptions.size() <= 1 ? SubscriptionType.HOMOGENEOUS : SubscriptionType.HETEROGENEOUS;
        SubscribedTopicDescriber describer = Reflect.proxy(SubscribedTopicDescriber.class,
            (method, arguments) -> method.equals("numPartitions") ? (Object) group.sizes.getOrDefault(arguments[0], -1) : Set.of());
        ConsumerGroupPartitionAssignor assignor = name.equals("uniform") ? new UniformAssignor() : new RangeAssignor();
        Map<String, List<TopicPartition>> assignment = new HashMap<>();
        group.members.keySet().forEach(member -> assignment.put(member, new ArrayList<>()));
        assignor.assign(new GroupSpecImpl(group.members, type, group.owners), describer).members().forEach((member, a) ->
            a.partitions().forEach((id, numbers) -> numbers.forEach(p -> assignment.get(member).add(new TopicPartition(group.topics.name(id), p)))));
        return assignment;
    }

    /** A topic that does not exist is not in the coordinator's view of a subscription. */
    private void add(String member, JsonNode given) {
        Set<Uuid> subscribed = new HashSet<>();
        for (String topic : Json.texts(given.path("topics")))
            if (sizes.containsKey(topics.id(topic))) subscribed.add(topics.id(topic));
        subscriptions.add(subscribed);
        Map<Uuid, Set<Integer>> owned = new HashMap<>();
        for (TopicPartition p : Json.partitions(given.get("owned"))) {
            owned.putIfAbsent(topics.id(p.topic()), new HashSet<>());     // computeIfAbsent would put it before others of its bucket
            owned.get(topics.id(p.topic())).add(p.partition());
            owners.computeIfAbsent(topics.id(p.topic()), id -> new HashMap<>()).put(p.partition(), member);
        }
        members.put(member, new MemberSubscriptionAndAssignmentImpl(Optional.ofNullable(Json.text(given, "rack", null)),
            Optional.ofNullable(Json.text(given, "instance", null)), subscribed, new Assignment(owned)));
    }
}
