package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ConsumerResourcesTest {
    private final Map<String, Object> storm = new HashMap<>();

    @Test
    void theyGrowWithTheTopology() {
        ConsumerResources small = new ConsumerResources(16);
        ConsumerResources document = new ConsumerResources(1_162);
        ConsumerResources large = new ConsumerResources(5_000);
        assertThat(small.onHeapMib()).isEqualTo(ConsumerResources.LEAST_HEAP_MIB + 1);
        assertThat(small.cpuPercent()).isEqualTo(ConsumerResources.LEAST_CPU + 1);
        assertThat(document.onHeapMib()).isGreaterThan(small.onHeapMib()).isLessThan(512).isLessThan(large.onHeapMib());
        assertThat(document.cpuPercent()).isGreaterThan(small.cpuPercent()).isLessThan(40)
                .isLessThan(large.cpuPercent());
    }

    @Test
    void whatIsUnsetIsSetAndSaid() {
        try (Logged log = new Logged(ConsumerResources.class)) {
            new ConsumerResources(1_000).register(storm, storm::get, true);
            assertThat(storm).containsOnly(
                    Map.entry("topology.metrics.consumer.resources.onheap.memory.mb",
                    ConsumerResources.LEAST_HEAP_MIB + ConsumerResources.HEAP_MIB_PER_THOUSAND),
                    Map.entry("topology.metrics.consumer.resources.offheap.memory.mb", ConsumerResources.OFF_HEAP_MIB),
                    Map.entry("topology.metrics.consumer.cpu.pcore.percent",
                    ConsumerResources.LEAST_CPU + ConsumerResources.CPU_PER_THOUSAND));
            assertThat(log.lines()).hasSize(3)
                    .allSatisfy(line -> assertThat(line).startsWith(
                    "INFO bullet-metrics: Set topology.metrics.consumer.")
                    .contains("resource request", "1000 executors"));
        }
    }

    @Test
    void whatTheUserSetIsLeftAlsoWhereBulletHandsItOverLater() {
        storm.put(ConsumerResources.ON_HEAP, 300);
        Map<String, Object> effective = new HashMap<>(storm);
        effective.put(ConsumerResources.CPU, 7);
        try (Logged log = new Logged(ConsumerResources.class)) {
            new ConsumerResources(1_000).register(storm, effective::get, true);
            assertThat(storm).containsOnly(Map.entry(ConsumerResources.ON_HEAP, 300),
                    Map.entry(ConsumerResources.OFF_HEAP, ConsumerResources.OFF_HEAP_MIB));
            assertThat(log.lines())
                    .contains("INFO bullet-metrics: Kept topology.metrics.consumer.resources.onheap.memory.mb at 300.",
                    "INFO bullet-metrics: Kept topology.metrics.consumer.cpu.pcore.percent at 7.");
        }
    }

    @Test
    void besideAnotherConsumerNothingIsBelowStormsDefault() {
        new ConsumerResources(16).register(storm, storm::get, false);
        assertThat(storm).containsEntry(ConsumerResources.ON_HEAP, 128).containsEntry(ConsumerResources.CPU, 10);
    }
}
