package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.source.GeneratorSettings;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

class SettingsTest {
    @TempDir
    Path folder;

    @Test
    void aFileThatIsNotThereIsAnError() {
        assertThatThrownBy(() -> Settings.forTopology(folder.resolve("none.yaml"), Map.of()))
            .isInstanceOf(NoSuchFileException.class);
    }

    @Test
    void aFileThatIsNoYamlMapIsAnError() throws IOException {
        assertThatThrownBy(() -> Settings.forTopology(file("just words"), Map.of()))
            .isInstanceOf(IOException.class).hasMessageContaining("bullet.yaml");
        assertThatThrownBy(() -> Settings.forTopology(file("a: [1"), Map.of()))
            .isInstanceOf(IOException.class).hasMessageContaining("bullet.yaml");
    }

    @Test
    void anEmptyFileMeansTheDefaults() throws IOException {
        assertThat(Settings.forTopology(file(""), Map.of()).get(BulletStormConfig.TOPOLOGY_NAME))
                .isEqualTo("bullet-topology");
    }

    @Test
    void theCommandLineLiesOverTheFile() throws IOException {
        Overrides overrides = new Overrides()
                .with(Map.of("bullet.topology.name", "by-storm-jar", "topology.workers", "3"))
            .with(Map.of("bullet.topology.filter.bolt.parallelism", "5",
                         "bullet.pubsub.rest.query.urls", "[http://127.0.0.1:1/q]", "topology.debug", "true"));

        BulletStormConfig config = Settings.forTopology(file("bullet.topology.name: by-file"), overrides.bullet());

        assertThat(config.get("bullet.topology.name")).isEqualTo("by-storm-jar");
        assertThat(config.get("bullet.topology.filter.bolt.parallelism")).isEqualTo(5);
        assertThat(config.get("bullet.pubsub.rest.query.urls")).isEqualTo(List.of("http://127.0.0.1:1/q"));
        assertThat(overrides.storm()).isEqualTo(Map.of("topology.workers", 3, "topology.debug", true));
    }

    /** A value that fails its check is silently replaced by the default, so each must come out as it went in. */
    @Test
    void theSampleIsTakenAsItIs() throws IOException {
        Path sample = Path.of("conf", "bullet_settings.yaml");
        Map<String, Object> written = new org.yaml.snakeyaml.Yaml().load(Files.readString(sample));

        BulletStormConfig config = Settings.forTopology(sample, Map.of());

        written.forEach((name, value) -> assertThat(config.get(name)).as(name).hasToString(String.valueOf(value)));
        assertThat(Settings.forGateway(sample, Map.of()).getSchema().getType("probe_sequence")).hasToString("LONG");
        assertThat(GeneratorSettings.from(config).controlUrl()).hasToString("http://127.0.0.1:9901/api/source/control");
        Wiring.topology(config);
    }

    @Test
    void theSampleForKafkaIsTakenAsItIs() throws IOException {
        Path sample = Path.of("conf", "bullet_settings_kafka.yaml");
        Map<String, Object> written = new org.yaml.snakeyaml.Yaml().load(Files.readString(sample));

        BulletStormConfig config = Settings.forTopology(sample, Map.of());

        written.forEach((name, value) -> assertThat(config.get(name)).as(name).hasToString(String.valueOf(value)));
        assertThat(Settings.forGateway(sample, Map.of()).getSchema().getType("kafka_received_ms")).hasToString("LONG");
        assertThat(Wiring.topology(config).get_spouts()).containsKey("DataSpout");
    }

    private Path file(String text) throws IOException {
        return Files.writeString(folder.resolve("bullet.yaml"), text);
    }
}
