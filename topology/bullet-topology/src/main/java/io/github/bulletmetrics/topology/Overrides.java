package io.github.bulletmetrics.topology;

import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Settings from the command line, each value read as YAML. A name is taken whole, dots and all; of two values of one
 * name the later holds.
 *
 * @param bullet those whose name starts with {@code bullet.}.
 * @param storm all others.
 */
public record Overrides(Map<String, Object> bullet, Map<String, Object> storm) {
    private static final String BULLET = "bullet.";

    /** None. */
    public Overrides() {
        this(new LinkedHashMap<>(), new LinkedHashMap<>());
    }

    /**
     * These with more over them.
     *
     * @param texts names and values, each value to be read as YAML; an empty one is null.
     * @return new overrides.
     * @throws IllegalArgumentException names the setting whose value is not YAML.
     */
    public Overrides with(Map<String, String> texts) {
        Overrides overrides = new Overrides(new LinkedHashMap<>(bullet), new LinkedHashMap<>(storm));
        texts.forEach((name, text) -> (name.startsWith(BULLET) ? overrides.bullet : overrides.storm).put(name,
                value(name, text)));
        return overrides;
    }

    private static Object value(String name, String text) {
        try {
            return new Yaml(new SafeConstructor()).load(text);
        } catch (YAMLException e) {
            throw new IllegalArgumentException("-c " + name + "=" + text + " is not YAML; quote texts like \"a: b\": "
                    + e.getMessage(), e);
        }
    }
}
