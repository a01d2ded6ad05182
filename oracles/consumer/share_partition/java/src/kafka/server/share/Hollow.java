package kafka.server.share;

import org.apache.kafka.coordinator.group.GroupConfigManager;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Objects that were never constructed, because a SharePartition only has to have them. */
final class Hollow {
    private Hollow() { }

    static <T> T made(Class<T> type) throws Exception {
        Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return type.cast(((sun.misc.Unsafe) field.get(null)).allocateInstance(type));
    }

    static void set(Object of, String name, Object value) throws Exception {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        field.set(of, value);
    }

    /** No group has options of its own. */
    static GroupConfigManager groupConfigs() throws Exception {
        GroupConfigManager configs = made(GroupConfigManager.class);
        for (Field field : GroupConfigManager.class.getDeclaredFields())
            if (Map.class.isAssignableFrom(field.getType())
                    && !Modifier.isStatic(field.getModifiers()))
                set(configs, field.getName(), new ConcurrentHashMap<>());
        return configs;
    }
}
