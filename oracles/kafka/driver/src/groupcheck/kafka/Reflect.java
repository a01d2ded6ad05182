package groupcheck.kafka;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Reaches what Kafka keeps private, or spells differently from version to version. Lookups are remembered. */
final class Reflect {
    private record Name(Class<?> of, String name, int arguments) { }

    private static final Map<Name, Method> METHODS = new ConcurrentHashMap<>();
    private static final Map<Name, Field> FIELDS = new ConcurrentHashMap<>();

    private Reflect() { }

    interface Handler {
        Object on(String method, Object[] arguments) throws Exception;
    }

    /** The value of a field, also a private or inherited one. */
    static Object field(Object of, String name) {
        Field field = FIELDS.computeIfAbsent(new Name(of.getClass(), name, 0), Reflect::findField);
        try {
            return field.get(of);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Puts another value into a field that is not final. */
    static void set(Object of, String name, Object value) {
        try {
            FIELDS.computeIfAbsent(new Name(of.getClass(), name, 0), Reflect::findField).set(of, value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field findField(Name wanted) {
        for (Class<?> c = wanted.of; c != null; c = c.getSuperclass())
            for (Field field : c.getDeclaredFields())
                if (field.getName().equals(wanted.name)) {
                    field.setAccessible(true);
                    return field;
                }
        throw new IllegalStateException(wanted.of + " has no field " + wanted.name);
    }

    /** Calls the method of that name and number of arguments, also a private or inherited one. */
    static Object call(Object on, String name, Object... arguments) throws Exception {
        Method method = METHODS.computeIfAbsent(new Name(on.getClass(), name, arguments.length), Reflect::findMethod);
        try {
            return method.invoke(on, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause() instanceof Exception cause ? cause : e;
        }
    }

    private static Method findMethod(Name wanted) {
        for (Class<?> c = wanted.of; c != null; c = c.getSuperclass())
            for (Method method : c.getDeclaredMethods())
                if (method.getName().equals(wanted.name) && method.getParameterCount() == wanted.arguments && !method.isBridge()) {
                    method.setAccessible(true);
                    return method;
                }
        throw new IllegalStateException(wanted.of + " has no method " + wanted.name);
    }

    static boolean has(Class<?> c, String method) {
        return Arrays.stream(c.getMethods()).anyMatch(m -> m.getName().equals(method));
    }

    /** The first public method of that name. */
    static Method method(Class<?> c, String name) {
        return Arrays.stream(c.getMethods()).filter(m -> m.getName().equals(name) && !m.isBridge()).findFirst()
            .orElseThrow(() -> new IllegalStateException(c + " has no method " + name));
    }

    /** Calls the first constructor; each parameter is filled by type from the parts, or with null (0 for numbers) where none fits. */
    static Object make(Class<?> c, Object... parts) throws Exception {
        Constructor<?> constructor = c.getDeclaredConstructors()[0];
        constructor.setAccessible(true);
        return constructor.newInstance(Arrays.stream(constructor.getParameterTypes()).map(type -> fitting(type, parts)).toArray());
    }

    private static Object fitting(Class<?> type, Object[] parts) {
        if (type == int.class) return 0;
        if (type == long.class) return 0L;
        return Arrays.stream(parts).filter(type::isInstance).findFirst().orElse(null);
    }

    /** An object of the interface whose methods all go to the handler, by name: one source serves signatures that differ. */
    static <T> T proxy(Class<T> c, Handler handler) {
        return c.cast(Proxy.newProxyInstance(c.getClassLoader(), new Class<?>[] {c}, (proxy, method, arguments) -> switch (method.getName()) {
            case "hashCode" -> System.identityHashCode(proxy);
            case "equals" -> proxy == arguments[0];
            case "toString" -> c.getSimpleName();
            default -> handler.on(method.getName(), arguments);
        }));
    }
}
