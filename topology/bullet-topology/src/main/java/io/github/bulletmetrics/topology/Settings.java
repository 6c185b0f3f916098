package io.github.bulletmetrics.topology;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.common.Config;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.YAMLException;

import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Reads Bullet's YAML file. Bullet itself goes on with its defaults when there is none; here that is an error. */
public final class Settings {
    private Settings() {
    }

    /**
     * Reads a file for the topology and lays settings over it.
     *
     * @param file the YAML file.
     * @param overrides names and values that are laid over.
     * @return the settings, checked.
     * @throws IOException when the file cannot be read, or is not a YAML map.
     */
    public static BulletStormConfig forTopology(Path file, Map<String, Object> overrides) throws IOException {
        return new BulletStormConfig(load(file, overrides));
    }

    /**
     * The same without the checks of {@code bullet.topology.*}, some of which need Storm's classes.
     *
     * @param file the YAML file.
     * @param overrides names and values that are laid over.
     * @return the settings, Bullet's own checked.
     * @throws IOException when the file cannot be read, or is not a YAML map.
     */
    public static BulletConfig forGateway(Path file, Map<String, Object> overrides) throws IOException {
        BulletConfig config = new BulletConfig();
        config.merge(load(file, overrides));
        return config;
    }

    private static Config load(Path file, Map<String, Object> overrides) throws IOException {
        Config config = new Config("");
        read(file).forEach((name, value) -> config.set(String.valueOf(name), value));
        overrides.forEach(config::set);
        return config;
    }

    private static Map<?, ?> read(Path file) throws IOException {
        try (Reader reader = Files.newBufferedReader(file)) {
            Object content = new Yaml(new SafeConstructor()).load(reader);
            if (content == null) {
                return Map.of();
            }
            if (content instanceof Map<?, ?> settings) {
                return settings;
            }
            throw new IOException(file + " is not a map of settings such as \"bullet.topology.name: my-topology\"");
        } catch (YAMLException e) {
            throw new IOException(file + " is not YAML: " + e.getMessage(), e);
        }
    }
}
