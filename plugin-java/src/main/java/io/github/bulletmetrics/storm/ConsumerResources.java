package io.github.bulletmetrics.storm;

import java.util.Map;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The resources that the resource-aware scheduler (Storm 2.0 and later) should reserve for a task of a metrics
 * consumer, depending on the topology's size. Storm's own default is 128 MB of heap and a tenth of a core for any size.
 *
 * <p>The numbers come from measurements (bench/README.md), with the reserve that is stated at each number. Storm has
 * one setting for all consumers of a topology. If another consumer is registered too, no value below Storm's default is
 * set.
 */
final class ConsumerResources {
    // Names that Storm 1.0.3 does not have yet.
    static final String ON_HEAP = "topology.metrics.consumer.resources.onheap.memory.mb";
    static final String OFF_HEAP = "topology.metrics.consumer.resources.offheap.memory.mb";
    static final String CPU = "topology.metrics.consumer.cpu.pcore.percent";

    /** The queue, gRPC, and what Storm's own part of the consumer takes, MiB. */
    static final int LEAST_HEAP_MIB = 64;
    /** A thousand executors' names, 14 MiB, and a tick of their reports as Storm holds them, MiB. */
    static final int HEAP_MIB_PER_THOUSAND = 32;
    /** Classes and compiled code, MiB: the plugin has no buffer outside of the heap. */
    static final int OFF_HEAP_MIB = 24;
    /** To connect, until the code is compiled, and for live samples (one for 100 workers), in percent of a core. */
    static final int LEAST_CPU = 2;
    /** In percent of a core: at intervals of 10 s 1,162 executors take half of one, and reports do not come evenly. */
    static final int CPU_PER_THOUSAND = 4;

    private static final int STORMS_HEAP_MIB = 128;
    private static final int STORMS_CPU = 10;
    private static final int THOUSAND = 1_000;
    private static final Logger LOG = LoggerFactory.getLogger(ConsumerResources.class);

    private final int executors;

    /**
     * @param executors of the topology.
     */
    ConsumerResources(int executors) {
        this.executors = executors;
    }

    /** MiB of heap. */
    int onHeapMib() {
        return LEAST_HEAP_MIB + share(HEAP_MIB_PER_THOUSAND);
    }

    /** In percent of a core. */
    int cpuPercent() {
        return LEAST_CPU + share(CPU_PER_THOUSAND);
    }

    private int share(int perThousand) {
        return (int) (((long) executors * perThousand + THOUSAND - 1) / THOUSAND);
    }

    /**
     * Sets what is unset.
     *
     * @param storm the topology's configuration; changed.
     * @param effective returns the value of a setting in the running topology; null if it is unset.
     * @param alone whether the plugin is the topology's only metrics consumer.
     */
    void register(Map<String, Object> storm, Function<String, Object> effective, boolean alone) {
        put(storm, effective, ON_HEAP, alone ? onHeapMib() : Math.max(onHeapMib(), STORMS_HEAP_MIB));
        put(storm, effective, OFF_HEAP, OFF_HEAP_MIB);
        put(storm, effective, CPU, alone ? cpuPercent() : Math.max(cpuPercent(), STORMS_CPU));
    }

    private void put(Map<String, Object> storm, Function<String, Object> effective, String name, int value) {
        if (effective.apply(name) != null) {
            LOG.info("bullet-metrics: Kept {} at {}.", name, effective.apply(name));
            return;
        }
        storm.put(name, value);
        LOG.info("bullet-metrics: Set {} to {}: resource request of a metrics consumer for {} executors.",
                name, value, executors);
    }
}
