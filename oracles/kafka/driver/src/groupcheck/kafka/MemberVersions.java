package groupcheck.kafka;

import org.apache.kafka.clients.GroupRebalanceConfig;
import org.apache.kafka.clients.consumer.internals.AbstractCoordinator;
import org.apache.kafka.clients.consumer.internals.ConsumerCoordinator;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.utils.Timer;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/**
 * Everything of the client that differs between Kafka 4.0.0, 4.1.1, 4.2.0 and 4.3.0. From 4.1 on
 * leaving takes an operation; from 4.3 on the heartbeat thread has a base class.
 */
final class MemberVersions {
    private static final Class<?> THREAD = type(AbstractCoordinator.class.getName() + "$HeartbeatThread");
    private static final Constructor<?> NEW_THREAD = THREAD.getDeclaredConstructors()[0];
    private static final Field THREAD_FIELD = field(AbstractCoordinator.class, "heartbeatThread");
    private static final Field CONFIG_FIELD = field(AbstractCoordinator.class, "rebalanceConfig");
    private static final boolean OPERATIONS = type("org.apache.kafka.clients.consumer.CloseOptions") != null;
    private static final Method PARSE = Arrays.stream(AbstractResponse.class.getMethods())
        .filter(m -> m.getName().equals("parseResponse") && m.getParameterCount() == 3).findFirst().orElseThrow();
    private static final Object DEFAULT = OPERATIONS ? operation("DEFAULT") : null;

    static {
        NEW_THREAD.setAccessible(true);
    }

    private MemberVersions() { }

    /**
     * Calls the constructor with the fewest parameters that takes each of the parts. They are given
     * in their order: a parameter takes the first part left that fits its type, or null, 0, false.
     */
    @SuppressWarnings("unchecked")
    static <T> T make(Class<T> c, Object... parts) throws Exception {
        Constructor<?>[] all = c.getDeclaredConstructors();
        Arrays.sort(all, (a, b) -> a.getParameterCount() - b.getParameterCount());
        for (Constructor<?> constructor : all) {
            List<Object> left = new ArrayList<>(Arrays.asList(parts));
            Object[] arguments = Arrays.stream(constructor.getParameterTypes()).map(type -> take(type, left)).toArray();
            if (!left.isEmpty()) continue;
            constructor.setAccessible(true);
            return (T) constructor.newInstance(arguments);
        }
        throw new IllegalStateException(c + " has no constructor that takes " + Arrays.toString(parts));
    }

    private static Object take(Class<?> type, List<Object> left) {
        Class<?> boxed = type == int.class ? Integer.class : type == long.class ? Long.class
            : type == boolean.class ? Boolean.class : type;
        for (Object part : left)
            if (boxed.isInstance(part)) {
                left.remove(part);
                return part;
            }
        if (type == boolean.class) return false;
        return type == java.util.Optional.class ? java.util.Optional.empty() : null;
    }

    /** Up to 4.0 the configuration says whether a member leaves when it closes; it always does here. */
    static GroupRebalanceConfig config(Object... parts) throws Exception {
        if (!has(GroupRebalanceConfig.class, "leaveGroupOnClose")) return make(GroupRebalanceConfig.class, parts);
        Object[] more = Arrays.copyOf(parts, parts.length + 1);
        more[parts.length] = true;
        return make(GroupRebalanceConfig.class, more);
    }

    /** The member's heartbeat thread, never started; null before it is made and after it failed or ended. */
    static Object thread(ConsumerCoordinator member) throws IllegalAccessException {
        return THREAD_FIELD.get(member);
    }

    /** Gives the member a heartbeat thread that is not started, so that it starts none itself. */
    static void giveThread(ConsumerCoordinator member) throws ReflectiveOperationException {
        THREAD_FIELD.set(member, NEW_THREAD.newInstance(member));
    }

    static boolean enabled(Object thread) {
        Object enabled = Reflect.field(thread, "enabled");
        return enabled instanceof AtomicBoolean atomic ? atomic.get() : (Boolean) enabled;
    }

    static boolean closed(Object thread) {
        Object closed = Reflect.field(thread, "closed");
        return closed instanceof AtomicBoolean atomic ? atomic.get() : (Boolean) closed;
    }

    static void setClosed(Object thread, boolean closed) {
        if (Reflect.field(thread, "closed") instanceof AtomicBoolean atomic) atomic.set(closed);
        else Reflect.set(thread, "closed", closed);
    }

    /** Why the heartbeat thread has failed; null inside if it has not. */
    @SuppressWarnings("unchecked")
    static AtomicReference<RuntimeException> failure(Object thread) {
        return (AtomicReference<RuntimeException>) Reflect.field(thread, has(THREAD, "failed") ? "failed" : "failureCause");
    }

    /** Swaps the configuration that AbstractCoordinator itself reads; returns the one before. */
    static Object swapConfig(ConsumerCoordinator member, Object config) throws IllegalAccessException {
        Object before = CONFIG_FIELD.get(member);
        CONFIG_FIELD.set(member, config);
        return before;
    }

    /** An operation of CloseOptions, by its name; null for a version that has none. */
    static Object operation(String name) {
        Class<?> type = type("org.apache.kafka.clients.consumer.CloseOptions$GroupMembershipOperation");
        if (type == null) {
            if (name.equals("DEFAULT")) return null;
            throw new Refused("this version leaves without options");
        }
        return Arrays.stream(type.getEnumConstants()).filter(o -> o.toString().equals(name)).findFirst()
            .orElseThrow(() -> new Refused("there is no way to close called " + name));
    }

    static void leave(ConsumerCoordinator member, String reason) throws Exception {
        if (OPERATIONS) Reflect.call(member, "maybeLeaveGroup", DEFAULT, reason);
        else Reflect.call(member, "maybeLeaveGroup", reason);
    }

    static void close(ConsumerCoordinator member, Timer timer, String operation) throws Exception {
        Object how = operation(operation);
        if (OPERATIONS) ConsumerCoordinator.class.getMethod("close", Timer.class, how.getClass()).invoke(member, timer, how);
        else ConsumerCoordinator.class.getMethod("close", Timer.class).invoke(member, timer);
    }

    /** An answer, written and read again as a broker and a client do. Up to 4.0 it is read from a plain buffer. */
    static AbstractResponse parsed(ApiKeys api, ApiMessage data, short version) throws Exception {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(data.size(cache, version));
        data.write(new ByteBufferAccessor(buffer), cache, version);
        buffer.flip();
        Object read = PARSE.getParameterTypes()[1] == ByteBuffer.class ? buffer : new ByteBufferAccessor(buffer);
        return (AbstractResponse) PARSE.invoke(null, api, read, version);
    }

    private static boolean has(Class<?> c, String field) {
        return Arrays.stream(c.getDeclaredFields()).anyMatch(f -> f.getName().equals(field));
    }

    private static Class<?> type(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException e) {
            return null;
        }
    }

    private static Field field(Class<?> of, String name) {
        try {
            Field field = of.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
