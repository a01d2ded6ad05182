package groupcheck.museum;

/**
 * One broker and its ZooKeeper in one process, each started by its own main method, which is the
 * same in every release. Arguments: the configuration of ZooKeeper, that of the broker. SIGTERM
 * stops the broker in order; the process ends at once when its input does.
 */
public final class Broker {
    private Broker() { }

    public static void main(String[] arguments) throws Exception {
        start("org.apache.zookeeper.server.ZooKeeperServerMain", arguments[0]);
        start("kafka.Kafka", arguments[1]);
        while (System.in.read() >= 0) {
            // Nothing is said to it.
        }
        Runtime.getRuntime().halt(0);
    }

    private static void start(String main, String configuration) {
        Thread thread = new Thread(() -> {
            try {
                Class.forName(main).getMethod("main", String[].class)
                        .invoke(null, (Object) new String[] {configuration});
            } catch (ReflectiveOperationException e) {
                e.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        }, main);
        thread.setDaemon(true);
        thread.start();
    }
}
