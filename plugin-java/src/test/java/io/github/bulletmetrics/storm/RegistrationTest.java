package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.yahoo.bullet.storm.BulletStormConfig;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.junit.jupiter.api.Test;

class RegistrationTest {
    /** Executors where nothing is set: each component's one, a worker's acker and its system bolt. */
    private static final int SMALLEST = 9;
    private final Config storm = new Config();
    private final BulletStormConfig bullet = new BulletStormConfig();

    @Test
    void setsWhatStormForgets() {
        Registration.register(storm, Map.<String, Object>of(Settings.ADDRESS, List.of("a:1", "b:2"))::get);
        assertThat(storm).containsOnly(
                Map.entry("topology.metrics.consumer.register",
                List.of(Map.of("class", "io.github.bulletmetrics.storm.StormMetricsConsumer",
                        "parallelism.hint", 1, "max.retain.metric.tuples", 10_000, "argument",
                        Map.of(Settings.ADDRESS, List.of("a:1", "b:2"))))),
                Map.entry("topology.enable.v2.metrics.tick", true),
                Map.entry("topology.v2.metrics.tick.interval.seconds", 10),
                Map.entry("topology.builtin.metrics.bucket.size.secs", 10),
                Map.entry("topology.worker.metrics",
                Map.of("bullet-metrics.sampler", "io.github.bulletmetrics.storm.WorkerSampler")),
                Map.entry("topology.auto.task.hooks", List.of("io.github.bulletmetrics.storm.LatencyHook")),
                Map.entry("topology.kryo.register", List.of("java.util.Collections$EmptyMap")),
                Map.entry("topology.metrics.consumer.resources.onheap.memory.mb",
                new ConsumerResources(SMALLEST).onHeapMib()),
                Map.entry("topology.metrics.consumer.resources.offheap.memory.mb", ConsumerResources.OFF_HEAP_MIB),
                Map.entry("topology.metrics.consumer.cpu.pcore.percent", new ConsumerResources(SMALLEST).cpuPercent()));
    }

    @Test
    void aLargeTopologyGetsMore() {
        bullet.set("bullet.topology.filter.bolt.parallelism", 5_000);
        bullet.set("bullet.topology.custom.topology.acker.executors", 0);
        BulletMetricsConsumer.register(storm, bullet);
        int executors = TopologySize.executors(
                name -> bullet.get(name.replace("topology.acker", "bullet.topology.custom.topology.acker")));
        assertThat(executors).isGreaterThan(5_000);
        assertThat(retained()).isEqualTo(executors * 2 * 4);
        assertThat(storm).containsEntry(ConsumerResources.ON_HEAP, new ConsumerResources(executors).onHeapMib());
        assertThat(storm).containsEntry(ConsumerResources.CPU, new ConsumerResources(executors).cpuPercent());
        storm.clear();
        bullet.set(Settings.RETAIN_TUPLES, 77);
        BulletMetricsConsumer.register(storm, bullet);
        assertThat(retained()).as("what the user set").isEqualTo(77);
    }

    @Test
    void whatBulletHandsOverAfterwardsIsNotSaidToBeSet() {
        bullet.set("bullet.topology.custom.topology.metrics.consumer.cpu.pcore.percent", 55);
        bullet.set("bullet.topology.custom.topology.builtin.metrics.bucket.size.secs", 200);
        try (Logged log = new Logged(ReportIntervals.class)) {
            BulletMetricsConsumer.register(storm, bullet);
            assertThat(log.lines()).singleElement()
                    .satisfies(line -> assertThat(line).contains("topology.builtin.metrics.bucket.size.secs is 200 s"));
        }
        assertThat(storm).doesNotContainKey(ConsumerResources.CPU);
    }

    @Test
    void whatIsSetIsSaidWithItsReason() {
        try (Logged log = new Logged(Registration.class)) {
            BulletMetricsConsumer.register(storm, bullet);
            assertThat(log.lines()).hasSize(7).allSatisfy(line -> assertThat(line).startsWith("INFO bullet-metrics: "));
            assertThat(log.lines().get(0))
                    .contains("max.retain.metric.tuples", "Storm keeps only 100 by default");
            assertThat(log.lines())
                    .anySatisfy(line -> assertThat(line).contains(
                    "Set topology.enable.v2.metrics.tick to true: without it, "));
            assertThat(log.lines())
                    .anySatisfy(line -> assertThat(line).contains("Added to topology.kryo.register",
                    "fail on each other's metrics"));
        }
    }

    private Object retained() {
        return ((Map<?, ?>) ((List<?>) storm.get("topology.metrics.consumer.register")).get(0))
                .get("max.retain.metric.tuples");
    }

    @Test
    void bulletsReportedSettingsComeAlongAndNoOthers() {
        bullet.set(Settings.ADDRESS, "a:1");
        bullet.set("bullet.pubsub.password", "s3cret");
        BulletMetricsConsumer.register(storm, bullet);
        Map<?, ?> entry = (Map<?, ?>) ((List<?>) storm.get("topology.metrics.consumer.register")).get(0);
        Map<?, ?> argument = (Map<?, ?>) entry.get("argument");
        assertThat(argument.get(Settings.ADDRESS)).isEqualTo("a:1");
        assertThat(argument.get(BulletStormConfig.TICK_SPOUT_INTERVAL))
                .isEqualTo(bullet.get(BulletStormConfig.TICK_SPOUT_INTERVAL)).isNotNull();
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
        assertThat((Map<?, ?>) storm.get("topology.worker.metrics")).hasSize(2)
                .hasFieldOrPropertyWithValue("cpu", "other.Cpu");
        assertThat(storm.get("topology.kryo.register"))
                .isEqualTo(List.of("a.B", Map.of("c.D", "c.Serializer"), "java.util.Collections$EmptyMap"));
        assertThat(storm.get("topology.auto.task.hooks"))
                .isEqualTo(List.of("other.Hook", "io.github.bulletmetrics.storm.LatencyHook"));
        assertThat(storm).containsEntry("topology.builtin.metrics.bucket.size.secs", 60)
                .containsEntry("topology.v2.metrics.tick.interval.seconds", 30)
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
        assertThatThrownBy(() -> BulletMetricsConsumer.register(storm, bullet))
                .isInstanceOf(IllegalArgumentException.class)
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
