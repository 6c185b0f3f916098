package io.github.bulletmetrics.topology;

import com.yahoo.bullet.storm.BulletStormConfig;

import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.Yaml;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * Writes down what holds in the end: every setting of Bullet after its checks, then every setting of Storm that differs
 * from Storm's own.
 */
final class EffectiveSettings {
    private EffectiveSettings() {
    }

    /** One YAML map, in the order of the names, Bullet's before Storm's. */
    static String yaml(BulletStormConfig config, Map<String, Object> storm) {
        DumperOptions options = new DumperOptions();
        options.setDefaultFlowStyle(DumperOptions.FlowStyle.BLOCK);
        Yaml yaml = new Yaml(options);
        Map<String, Object> bullets = new TreeMap<>(config.getAll(Optional.empty()));
        return "# Bullet's settings, checked\n" + yaml.dump(plain(bullets))
            + "# Storm's settings of this topology\n" + (storm.isEmpty() ? "" : yaml.dump(plain(new TreeMap<>(storm))));
    }

    /** What is neither text, number, list nor map is written as text. */
    private static Object plain(Object value) {
        if (value instanceof Map<?, ?> map) {
            Map<String, Object> plain = new LinkedHashMap<>();
            map.forEach((key, entry) -> plain.put(String.valueOf(key), plain(entry)));
            return plain;
        }
        if (value instanceof Collection<?> list) {
            List<Object> plain = new ArrayList<>();
            list.forEach(entry -> plain.add(plain(entry)));
            return plain;
        }
        return value == null || value instanceof Number || value instanceof Boolean ? value : value.toString();
    }
}
