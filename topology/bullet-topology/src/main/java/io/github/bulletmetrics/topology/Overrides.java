package io.github.bulletmetrics.topology;

import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Settings from the command line. {@code storm jar} takes {@code -c} for itself and hands it on in {@code storm.options};
 * without it the program sees {@code -c}: both end here.
 *
 * @param bullet those whose name starts with {@code bullet.}.
 * @param storm all others.
 */
public record Overrides(Map<String, Object> bullet, Map<String, Object> storm) {
    private static final String BULLET = "bullet.";

    /**
     * Sorts settings by whose they are.
     *
     * @param settings names and values.
     * @return the two kinds.
     */
    public static Overrides of(Map<String, Object> settings) {
        Overrides overrides = new Overrides(new LinkedHashMap<>(), new LinkedHashMap<>());
        settings.forEach(overrides::put);
        return overrides;
    }

    /**
     * These with more over them.
     *
     * @param texts names and values, each value read as YAML.
     * @return new overrides.
     */
    public Overrides with(Map<String, String> texts) {
        Overrides overrides = of(bullet);
        storm.forEach(overrides::put);
        texts.forEach((name, text) -> overrides.put(name, new Yaml(new SafeConstructor()).load(text)));
        return overrides;
    }

    private void put(String name, Object value) {
        (name.startsWith(BULLET) ? bullet : storm).put(name, value);
    }
}
