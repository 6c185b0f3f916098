package io.github.bulletmetrics.storm.noharm;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.storm.shade.net.minidev.json.JSONValue;

/**
 * What one task of each component hands over in one tick, as a capture of a real Bullet has it
 * ({@code topology/captures}): of each data point the widest value that was seen.
 */
final class Shapes {
    /** Those that Bullet registers, and in the captures reports every 10 s. */
    private static final String BULLETS = "bullet_";

    /** By component, then by name. */
    private final Map<String, Map<String, Object>> values = new LinkedHashMap<>();

    Shapes(Path capture) throws IOException {
        for (String line : Files.readAllLines(capture, StandardCharsets.UTF_8)) {
            Map<?, ?> point = (Map<?, ?>) JSONValue.parse(line);
            if (point.get("name") != null) {
                take((String) point.get("component"), (String) point.get("name"),
                        typed(point.get("value"), (String) point.get("class")));
            }
        }
    }

    private void take(String component, String name, Object value) {
        values.computeIfAbsent(component, unseen -> new LinkedHashMap<>())
                .merge(name, value, (before, now) -> numbers(now) > numbers(before) ? now : before);
    }

    private static Object typed(Object value, String javaClass) {
        if (!(value instanceof Number)) {
            return value;
        }
        Number number = (Number) value;
        switch (javaClass) {
            case "java.lang.Double":
                return number.doubleValue();
            case "java.lang.Float":
                return number.floatValue();
            case "java.lang.Integer":
                return number.intValue();
            default:
                return number.longValue();
        }
    }

    /** How many numbers a value has. */
    static int numbers(Object value) {
        if (value instanceof Map) {
            return ((Map<?, ?>) value).values().stream().mapToInt(Shapes::numbers).sum();
        }
        return value instanceof Number ? 1 : 0;
    }

    /** All that a task of a component reports, by name. */
    Map<String, Object> of(String component) {
        return values.get(component);
    }

    static boolean isBullets(String name) {
        return name.startsWith(BULLETS);
    }
}
