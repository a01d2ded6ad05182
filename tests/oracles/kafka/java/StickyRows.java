import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;

/**
 * What Kafka's partitioners do, row by row, one line each. Both classes are found by name: the one
 * of KIP-480 is gone since Kafka 4.0, the one of KIP-794 is not public.
 *
 * <pre>
 *     sticky N OLD PREVIOUS: the partitions after onNewBatch, of N; OLD -1: none is sticky yet
 *     built_in BATCH PRODUCED ENABLED: whether one more record makes the partition change
 *     next N: the partitions that may follow partition 0
 * </pre>
 */
public class StickyRows {
    private static final String TOPIC = "t";
    private static final int TRIES = 100;

    public static void main(String[] args) throws Exception {
        if (args[0].equals("sticky")) {
            sticky(Class.forName("org.apache.kafka.clients.producer.UniformStickyPartitioner"));
        } else {
            builtIn(Class.forName(
                "org.apache.kafka.clients.producer.internals.BuiltInPartitioner"));
        }
    }

    private static void sticky(Class<?> type) throws Exception {
        Method partition = type.getMethod("partition", String.class, Object.class, byte[].class,
            Object.class, byte[].class, Cluster.class);
        Method onNewBatch = type.getMethod("onNewBatch", String.class, Cluster.class, int.class);
        for (int n = 1; n <= 3; n++) {
            Cluster cluster = cluster(n);
            for (int old = -1; old < n; old++) {
                for (int previous = 0; previous < n; previous++) {
                    Set<Object> after = new TreeSet<>();
                    for (int k = 0; k < TRIES; k++) {
                        Object one = type.getConstructor().newInstance();
                        Object now = old < 0
                            ? old
                            : partition.invoke(one, TOPIC, null, null, null, null, cluster);
                        if (!now.equals(old)) {
                            continue;
                        }
                        onNewBatch.invoke(one, TOPIC, cluster, previous);
                        after.add(partition.invoke(one, TOPIC, null, null, null, null, cluster));
                    }
                    System.out.println("sticky " + n + " " + old + " " + previous + " " + after);
                }
            }
        }
    }

    private static void builtIn(Class<?> type) throws Exception {
        Class<?> logs = Class.forName("org.apache.kafka.common.utils.LogContext");
        Constructor<?> create = type.getConstructor(logs, String.class, int.class);
        Method peek = reachable(type, "peekCurrentPartitionInfo", 1);
        Method update = reachable(type, "updatePartitionInfo", 4);
        Method changed = reachable(type, "isPartitionChanged", 1);
        Cluster two = cluster(2);
        for (int batch = 1; batch <= 4; batch++) {
            for (int produced = 0; produced < 2 * batch; produced++) {
                for (boolean enabled : new boolean[] {false, true}) {
                    Object log = logs.getConstructor().newInstance();
                    Object one = create.newInstance(log, TOPIC, batch);
                    Object info = peek.invoke(one, two);
                    if (produced > 0) {
                        update.invoke(one, info, produced, two, false);
                    }
                    update.invoke(one, info, 1, two, enabled);
                    System.out.println("built_in " + batch + " " + produced + " " + enabled + " "
                        + changed.invoke(one, info));
                }
            }
        }
        Class<?> chosen = Class.forName(type.getName() + "$StickyPartitionInfo");
        Method partition = chosen.getMethod("partition");
        for (int n = 1; n <= 3; n++) {
            Cluster cluster = cluster(n);
            Set<Object> after = new TreeSet<>();
            for (int k = 0; k < TRIES; k++) {
                Object one = create.newInstance(logs.getConstructor().newInstance(), TOPIC, 1);
                Object info = peek.invoke(one, cluster);
                update.invoke(one, info, 1, cluster, true);
                if (partition.invoke(info).equals(0)) {
                    after.add(partition.invoke(peek.invoke(one, cluster)));
                }
            }
            System.out.println("next " + n + " " + after);
        }
    }

    private static Method reachable(Class<?> type, String name, int parameters) {
        for (Method method : type.getDeclaredMethods()) {
            if (method.getName().equals(name) && method.getParameterCount() == parameters) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new IllegalStateException(name);
    }

    private static Cluster cluster(int partitions) {
        Node node = new Node(0, "localhost", 9092);
        List<PartitionInfo> infos = new ArrayList<>();
        for (int p = 0; p < partitions; p++) {
            infos.add(new PartitionInfo(TOPIC, p, node, new Node[] {node}, new Node[] {node}));
        }
        return new Cluster("c", List.of(node), infos, Set.of(), Set.of());
    }
}
