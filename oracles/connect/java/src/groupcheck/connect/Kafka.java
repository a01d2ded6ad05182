package groupcheck.connect;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Reaches what Kafka keeps private, or spells differently from version to version. Lookups are
 * remembered.
 */
final class Kafka {
    private static final Map<String, Field> FIELDS = new ConcurrentHashMap<>();
    private static final Map<String, Method> METHODS = new ConcurrentHashMap<>();
    private static final sun.misc.Unsafe UNSAFE = unsafe();

    private Kafka() { }

    interface Handler {
        Object on(Method method, Object[] arguments) throws Throwable;
    }

    private static sun.misc.Unsafe unsafe() {
        try {
            Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (sun.misc.Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** An object whose constructor does not run: for classes whose constructors differ. */
    static <T> T bare(Class<T> c) throws InstantiationException {
        return c.cast(UNSAFE.allocateInstance(c));
    }

    /** Has the class, or one that it extends, such a field? */
    static boolean has(Class<?> c, String field) {
        return find(c, field) != null;
    }

    private static Field find(Class<?> of, String name) {
        return FIELDS.computeIfAbsent(of.getName() + "." + name, key -> {
            for (Class<?> c = of; c != null; c = c.getSuperclass())
                for (Field field : c.getDeclaredFields())
                    if (field.getName().equals(name)) {
                        field.setAccessible(true);
                        return field;
                    }
            return null;
        });
    }

    static Object get(Object of, String field) throws IllegalAccessException {
        return find(of.getClass(), field).get(of);
    }

    static void set(Object of, String field, Object value) throws IllegalAccessException {
        find(of.getClass(), field).set(of, value);
    }

    /** Calls the method of that name and number of arguments; null for what is not there. */
    static Object call(Object on, Class<?> c, String name, Object... arguments) throws Exception {
        Method method = METHODS.computeIfAbsent(c.getName() + "." + name + arguments.length,
                key -> method(c, name, arguments.length));
        return method.invoke(on, arguments);
    }

    private static Method method(Class<?> of, String name, int arguments) {
        for (Class<?> c = of; c != null; c = c.getSuperclass())
            for (Method method : c.getDeclaredMethods())
                if (method.getName().equals(name) && method.getParameterCount() == arguments
                        && !method.isBridge()) {
                    method.setAccessible(true);
                    return method;
                }
        throw new IllegalStateException(of + " has no method " + name);
    }

    /** Is there a method of that name with that number of arguments? */
    static boolean hasMethod(Class<?> c, String name, int arguments) {
        return Arrays.stream(c.getDeclaredMethods())
                .anyMatch(m -> m.getName().equals(name) && m.getParameterCount() == arguments);
    }

    /** The constructor with the most parameters. */
    static Constructor<?> longest(Class<?> c) {
        Constructor<?> found = Arrays.stream(c.getDeclaredConstructors())
                .max(Comparator.comparingInt(Constructor::getParameterCount)).orElseThrow();
        found.setAccessible(true);
        return found;
    }

    /** An object of the interface whose methods all go to the handler. */
    static <T> T proxy(Class<T> c, Handler handler) {
        InvocationHandler all = (proxy, method, arguments) -> switch (method.getName()) {
            case "hashCode" -> System.identityHashCode(proxy);
            case "equals" -> proxy == arguments[0];
            case "toString" -> c.getSimpleName();
            default -> method.isDefault()
                    ? InvocationHandler.invokeDefault(proxy, method, arguments)
                    : handler.on(method, arguments);
        };
        return c.cast(Proxy.newProxyInstance(c.getClassLoader(), new Class<?>[] {c}, all));
    }
}
