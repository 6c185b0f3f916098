package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.yahoo.bullet.storm.BulletStormConfig;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.junit.jupiter.api.Test;

class RegistrationTest {
    private final Config storm = new Config();
    private final BulletStormConfig bullet = new BulletStormConfig();

    @Test
    void setsWhatStormForgets() {
        Registration.register(storm, Map.<String, Object>of(Settings.ADDRESS, List.of("a:1", "b:2"))::get);
        assertThat(storm).containsOnly(
                Map.entry("topology.metrics.consumer.register", List.of(Map.of("class", "io.github.bulletmetrics.storm.StormMetricsConsumer",
                        "parallelism.hint", 1, "max.retain.metric.tuples", 10_000, "argument", Map.of(Settings.ADDRESS, List.of("a:1", "b:2"))))),
                Map.entry("topology.enable.v2.metrics.tick", true),
                Map.entry("topology.v2.metrics.tick.interval.seconds", 10),
                Map.entry("topology.builtin.metrics.bucket.size.secs", 10),
                Map.entry("topology.worker.metrics", Map.of("bullet-metrics.sampler", "io.github.bulletmetrics.storm.WorkerSampler")),
                Map.entry("topology.auto.task.hooks", List.of("io.github.bulletmetrics.storm.LatencyHook")),
                Map.entry("topology.kryo.register", List.of("java.util.Collections$EmptyMap")));
    }

    @Test
    void bulletsOwnSettingsThatTheCollectorIsToldComeAlongAndNoOthers() {
        bullet.set(Settings.ADDRESS, "a:1");
        bullet.set("bullet.pubsub.password", "s3cret");
        BulletMetricsConsumer.register(storm, bullet);
        Map<?, ?> entry = (Map<?, ?>) ((List<?>) storm.get("topology.metrics.consumer.register")).get(0);
        Map<?, ?> argument = (Map<?, ?>) entry.get("argument");
        assertThat(argument.get(Settings.ADDRESS)).isEqualTo("a:1");
        assertThat(argument.get(BulletStormConfig.TICK_SPOUT_INTERVAL)).isEqualTo(bullet.get(BulletStormConfig.TICK_SPOUT_INTERVAL)).isNotNull();
        assertThat(storm.toString()).doesNotContain("s3cret");
    }

    @Test
    void addsToWhatIsThereAndLeavesWhatTheUserSet() {
        Map<String, Object> other = Map.of("class", "other.Consumer", "parallelism.hint", 2);
        storm.put("topology.metrics.consumer.register", List.of(other));
        storm.put("topology.worker.metrics", Map.of("cpu", "other.Cpu"));
        storm.put("topology.kryo.register", List.of("a.B", Map.of("c.D", "c.Serializer")));
        storm.put("topology.auto.task.hooks", List.of("other.Hook"));
        storm.put("topology.builtin.metrics.bucket.size.secs", 60);
        storm.put("topology.v2.metrics.tick.interval.seconds", 30);
        storm.put("topology.enable.v2.metrics.tick", false);
        BulletMetricsConsumer.register(storm, bullet);
        assertThat((List<?>) storm.get("topology.metrics.consumer.register")).hasSize(2).first().isEqualTo(other);
        assertThat((Map<?, ?>) storm.get("topology.worker.metrics")).hasSize(2).hasFieldOrPropertyWithValue("cpu", "other.Cpu");
        assertThat(storm.get("topology.kryo.register")).isEqualTo(List.of("a.B", Map.of("c.D", "c.Serializer"), "java.util.Collections$EmptyMap"));
        assertThat(storm.get("topology.auto.task.hooks")).isEqualTo(List.of("other.Hook", "io.github.bulletmetrics.storm.LatencyHook"));
        assertThat(storm).containsEntry("topology.builtin.metrics.bucket.size.secs", 60).containsEntry("topology.v2.metrics.tick.interval.seconds", 30)
                .containsEntry("topology.enable.v2.metrics.tick", true);
    }

    @Test
    void registeringTwiceIsRegisteringOnce() {
        BulletMetricsConsumer.register(storm, bullet);
        Map<String, Object> once = Map.copyOf(storm);
        BulletMetricsConsumer.register(storm, bullet);
        assertThat(storm).isEqualTo(once);
    }

    @Test
    void theSamplerCanBeLeftOut() {
        bullet.set(Settings.SAMPLER_ENABLED, false);
        BulletMetricsConsumer.register(storm, bullet);
        assertThat(storm).doesNotContainKey("topology.worker.metrics");
    }

    @Test
    void theLatencyHookCanBeLeftOut() {
        bullet.set(Settings.LATENCY_ENABLED, "false");
        BulletMetricsConsumer.register(storm, bullet);
        assertThat(storm).doesNotContainKey("topology.auto.task.hooks").containsKey("topology.worker.metrics");
    }

    @Test
    void aWrongSettingIsSaidAtSubmissionAndNothingIsChanged() {
        bullet.set(Settings.ADDRESS, "http://collector");
        assertThatThrownBy(() -> BulletMetricsConsumer.register(storm, bullet)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(Settings.ADDRESS);
        assertThat(storm).isEmpty();
    }

    @Test
    void stormAcceptsWhatIsSet() {
        BulletMetricsConsumer.register(storm, bullet);
        org.apache.storm.validation.ConfigValidation.validateFields(storm);
        assertThat(org.apache.storm.utils.Utils.isValidConf(storm)).as("can be sent to Nimbus as JSON").isTrue();
    }
}
