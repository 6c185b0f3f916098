package com.yahoo.bullet.storm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.common.Config;
import com.yahoo.bullet.common.SerializerDeserializer;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;

class BulletStormConfigTest {
    @ParameterizedTest
    @CsvSource({
        "bullet.topology.name, bullet-topology",
        "bullet.topology.metrics.enable, false",
        "bullet.topology.filter.bolt.parallelism, 16",
        "bullet.topology.join.bolt.memory.on.heap.load, 512.0",
        "bullet.topology.tick.spout.memory.on.heap.load, 128.0",
        "bullet.topology.tick.spout.interval.ms, 100",
        "bullet.topology.replay.request.interval, 30000",
        "bullet.query.window.min.emit.every.ms, 1000",
    })
    void hasBulletsDefaults(String key, String expected) {
        assertThat(new BulletStormConfig().get(key)).hasToString(expected);
    }

    @ParameterizedTest
    @CsvSource({
        "bullet.topology.filter.bolt.parallelism, -1, 16",
        "bullet.topology.filter.bolt.parallelism, many, 16",
        "bullet.topology.filter.bolt.cpu.load, 5, 100.0",
        "bullet.topology.tick.spout.interval.ms, 9, 100",
        "bullet.topology.metrics.enable, 'yes, please', false",
        "bullet.topology.metrics.built.in.emit.interval.mapping, '{bullet_no_such: 1}', '{bullet_active_queries=10, default=10}'",
        "bullet.topology.metrics.built.in.emit.interval.mapping, '{default: 0}', '{bullet_active_queries=10, default=10}'",
    })
    void putsTheDefaultInPlaceOfABadValue(String key, String bad, String expected, @TempDir Path folder)
            throws Exception {
        assertThat(load(folder, key + ": " + bad).get(key)).hasToString(expected);
    }

    @Test
    void keepsWhatItDoesNotKnow(@TempDir Path folder) throws Exception {
        BulletStormConfig config = load(folder,
            "some.setting: {a: [1, 2]}",
            "bullet.topology.metrics.collector.address: '127.0.0.1:4320'",
            "bullet.topology.custom.topology.workers: 2");

        assertThat(config.get("some.setting")).hasToString("{a=[1, 2]}");
        assertThat(config.get("bullet.topology.metrics.collector.address")).isEqualTo("127.0.0.1:4320");
        assertThat(config.getCustomStormSettings()).isEqualTo(Collections.singletonMap("topology.workers", 2));
    }

    @Test
    void refusesAWindowShorterThanTheTicksAllow(@TempDir Path folder) {
        assertThatThrownBy(() -> load(folder, "bullet.topology.tick.spout.interval.ms: 300"))
            .isInstanceOf(IllegalStateException.class);
    }

    @Test
    void refusesASpoutClassThatIsNotThere(@TempDir Path folder) {
        assertThatThrownBy(() -> load(folder, "bullet.topology.bullet.spout.class.name: no.such.Spout"))
            .isInstanceOf(IllegalStateException.class).hasMessageContaining("bullet.topology.bullet.spout.class.name");
    }

    @Test
    void survivesTheWayToAWorker() {
        BulletStormConfig config = new BulletStormConfig();
        config.set(BulletStormConfig.TOPOLOGY_NAME, "journey");

        BulletStormConfig arrived = SerializerDeserializer.fromBytes(SerializerDeserializer.toBytes(config));

        assertThat(arrived.get(BulletStormConfig.TOPOLOGY_NAME)).isEqualTo("journey");
        assertThat(arrived.get(BulletConfig.WINDOW_MIN_EMIT_EVERY)).isEqualTo(1000);
    }

    @Test
    void everyComponentHasItsFourSettings() {
        BulletStormConfig config = new BulletStormConfig();
        for (ComponentSettings component : ComponentSettings.values()) {
            assertThat(config.get(component.cpuLoad())).as(component.cpuLoad()).isInstanceOf(Double.class);
            assertThat(config.get(component.onHeapLoad())).as(component.onHeapLoad()).isInstanceOf(Double.class);
            assertThat(config.get(component.offHeapLoad())).as(component.offHeapLoad()).isInstanceOf(Double.class);
            assertThat(config.get(component.parallelism()) instanceof Integer).isEqualTo(component.hasParallelism());
        }
    }

    private static BulletStormConfig load(Path folder, String... lines) throws Exception {
        Path file = folder.resolve("bullet.yaml");
        Files.write(file, String.join("\n", lines).getBytes("UTF-8"));
        return new BulletStormConfig(new Config(file.toString()));
    }
}
