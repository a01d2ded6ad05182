package groupcheck.kafka;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;

import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;

/** Ids that the broker made are shown as m1, m2, ... in the order of their appearance; any other name stands for itself. */
final class Names {
    private static final Pattern GIVEN = Pattern.compile("m[1-9][0-9]*");

    private final Map<String, String> real = new HashMap<>();
    private final Map<String, String> shown = new HashMap<>();
    private int last;

    void clear() {
        real.clear();
        shown.clear();
        last = 0;
    }

    /** The broker's id behind a name. Refuses m7 before a seventh id was made. */
    String real(String name) {
        if (name == null || name.isEmpty()) return name;
        String id = real.get(name);
        if (id != null) return id;
        if (GIVEN.matcher(name).matches()) throw new Refused("no id " + name + " has been handed out");
        real.put(name, name);
        shown.put(name, name);
        return name;
    }

    /** The name of an id, a new one for an id not seen before. */
    String shown(String id) {
        if (id == null || id.isEmpty()) return id;
        return shown.computeIfAbsent(id, unseen -> {
            String name = "m" + ++last;
            real.put(name, unseen);
            return name;
        });
    }

    boolean known(String id) {
        return shown.containsKey(id);
    }

    /** A timer's key with the member's name at its end instead of its id. */
    String inKey(String key) {
        for (Map.Entry<String, String> e : shown.entrySet())
            if (key.endsWith("-" + e.getKey())) return key.substring(0, key.length() - e.getKey().length()) + e.getValue();
        return key;
    }

    ArrayNode sorted(Collection<String> ids) {
        ArrayNode names = JsonNodeFactory.instance.arrayNode();
        ids.stream().map(this::shown).sorted().forEach(names::add);
        return names;
    }

    /** The same JSON with names instead of ids, as values and as keys. */
    JsonNode within(JsonNode json) {
        if (json.isTextual()) return shown.containsKey(json.asText()) ? TextNode.valueOf(shown.get(json.asText())) : json;
        if (json.isArray()) {
            ArrayNode copy = JsonNodeFactory.instance.arrayNode();
            json.forEach(x -> copy.add(within(x)));
            return copy;
        }
        if (!json.isObject()) return json;
        ObjectNode copy = JsonNodeFactory.instance.objectNode();
        json.properties().forEach(e -> copy.set(shown.getOrDefault(e.getKey(), e.getKey()), within(e.getValue())));
        return copy;
    }
}
