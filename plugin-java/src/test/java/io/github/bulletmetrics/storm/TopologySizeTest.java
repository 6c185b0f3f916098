package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.storm.BulletStormConfig;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TopologySizeTest {
    private final Map<String, Object> settings = new HashMap<>();

    @Test
    void everyComponentCountsThatWillBeThere() {
        parallelism("bullet.spout", 64, "filter.bolt", 128, "join.bolt", 2, "query.spout", 2, "result.bolt", 3,
                "loop.bolt", 4, "dsl.spout", 1_000,
                "dsl.bolt", 1_000, "replay.bolt", 1_000);
        settings.put("topology.acker.executors", 256);
        settings.put("topology.workers", 10);
        int tickSpout = 1;
        int withoutSource = 128 + 2 + 2 + 3 + 4 + tickSpout + 256 + 10;
        assertThat(TopologySize.executors(settings::get)).isEqualTo(64 + withoutSource);
        settings.put("bullet.topology.dsl.spout.enable", true);
        assertThat(TopologySize.executors(settings::get)).isEqualTo(1_000 + withoutSource);
        settings.put("bullet.topology.dsl.bolt.enable", "true");
        settings.put("bullet.topology.replay.enable", true);
        assertThat(TopologySize.executors(settings::get)).isEqualTo(3_000 + withoutSource);
    }

    @Test
    void stormGivesEachWorkerAnAckerWhereNoneAreSet() {
        settings.put("topology.workers", 10L);
        int components = 7;
        assertThat(TopologySize.executors(settings::get)).isEqualTo(components + 10 + 10);
        settings.put("topology.acker.executors", 0);
        assertThat(TopologySize.executors(settings::get)).isEqualTo(components + 10);
    }

    @Test
    void bulletsDefaultsHaveASizeAndNonsenseHasNone() {
        BulletStormConfig bullet = new BulletStormConfig();
        assertThat(TopologySize.executors(name -> bullet.get(name))).isBetween(10, 100);
        parallelism("filter.bolt", -5, "join.bolt", Long.MAX_VALUE);
        assertThat(TopologySize.executors(settings::get)).isEqualTo(7);
    }

    private void parallelism(Object... ofComponents) {
        for (int i = 0; i < ofComponents.length; i += 2) {
            settings.put("bullet.topology." + ofComponents[i] + ".parallelism", ofComponents[i + 1]);
        }
    }
}
