package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;

import clojure.lang.Atom;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.TopologyContext;
import org.junit.jupiter.api.Test;

/** The hook and Storm's SystemBolt, which Storm prepares after it, on Storm's own context. */
class LiveSamplerTest {
    private static final int SYSTEM_TASK = -1;
    private static final String SAMPLER = "bullet-metrics.sampler";
    private static final String LIVE = "bullet-metrics.sampler.live";
    private static final Map<String, Object> OURS = Map.of(SAMPLER, "io.github.bulletmetrics.storm.WorkerSampler");

    /** A worker's metrics of SystemBolt's task, and the samples that its sampler takes. */
    private static final class Worker {
        final Map<Integer, Map<Integer, Map<String, IMetric>>> registered = new HashMap<>();
        final Queue<byte[]> samples = new ArrayDeque<>();
        final TopologyContext context;

        Worker() {
            this(SYSTEM_TASK, false);
        }

        Worker(int task, boolean begun) {
            context = context(task, begun, registered);
        }

        static TopologyContext context(int task, boolean begun,
                Map<Integer, Map<Integer, Map<String, IMetric>>> registered) {
            return new TopologyContext(new StormTopology(new HashMap<>(), new HashMap<>(), new HashMap<>()),
                    new HashMap<>(), Map.of(1, "DataSource"), new HashMap<>(), new HashMap<>(), "bullet-1-1700000000",
                    "", "", task, 6700, List.of(task), new HashMap<>(), new HashMap<>(), new HashMap<>(), registered,
                    new Atom(begun));
        }

        Worker hook(Map<String, Object> conf) {
            new LatencyHook().prepare(conf, context);
            return this;
        }

        Worker systemBolt() {
            context.registerMetric(SAMPLER, new WorkerSampler(samples::poll), 10);
            return this;
        }

        void sample(int... bytes) {
            for (int value : bytes) {
                samples.add(new byte[] {(byte) value});
            }
        }

        IMetric metric(String name) {
            return registered.values().stream().map(tasks -> tasks.get(context.getThisTaskId()))
                    .filter(metrics -> metrics.containsKey(name)).map(metrics -> metrics.get(name)).findFirst()
                    .orElse(null);
        }

        /** What Storm reads from a metric: the number of the sample, or null for no data point. */
        Integer read(String name) {
            byte[] pack = (byte[]) metric(name).getValueAndReset();
            return pack == null ? null : Integer.valueOf(pack[0]);
        }
    }

    @Test
    void everySampleIsReportedOnceAndLive() {
        Worker worker = new Worker().hook(conf(OURS, 10)).systemBolt();
        assertThat(worker.registered.keySet()).containsExactlyInAnyOrder(2, 10);
        worker.sample(1, 2, 3, 4);
        assertThat(worker.read(LIVE)).isEqualTo(1);
        assertThat(worker.read(SAMPLER)).as("the live reports have it").isNull();
        assertThat(worker.read(LIVE)).isEqualTo(2);
        assertThat(worker.read(LIVE)).isEqualTo(3);
        assertThat(worker.read(SAMPLER)).isNull();
        assertThat(worker.read(LIVE)).isEqualTo(4);
        assertThat(worker.read(LIVE)).isNull();
    }

    @Test
    void withoutTheHookTheSamplerReportsAtStormsInterval() {
        Worker worker = new Worker().systemBolt();
        worker.sample(1, 2);
        assertThat(worker.read(SAMPLER)).isEqualTo(1);
        assertThat(worker.read(SAMPLER)).isEqualTo(2);
    }

    @Test
    void theSamplerContinuesWhenTheLiveReportsEnd() {
        Worker worker = new Worker().hook(conf(OURS, 10)).systemBolt();
        worker.sample(1, 2, 3);
        assertThat(worker.read(LIVE)).isEqualTo(1);
        assertThat(worker.read(SAMPLER)).isNull();
        assertThat(worker.read(SAMPLER)).isEqualTo(2);
        assertThat(worker.read(SAMPLER)).isEqualTo(3);
    }

    /** In a LocalCluster the workers of all topologies share the classes. */
    @Test
    void workersInOneJvmDoNotTakeEachOthersSamples() {
        Worker live = new Worker().hook(conf(OURS, 10)).systemBolt();
        Worker other = new Worker().hook(conf(OURS, 10)).systemBolt();
        Worker withoutHook = new Worker().systemBolt();
        live.sample(1);
        other.sample(2);
        withoutHook.sample(3);
        assertThat(live.read(LIVE)).isEqualTo(1);
        assertThat(other.read(LIVE)).isEqualTo(2);
        assertThat(withoutHook.read(SAMPLER)).isEqualTo(3);
    }

    @Test
    void theSamplerMayBeOfTheWholeCluster() {
        Map<String, Object> conf = new HashMap<>(Map.of("worker.metrics", OURS));
        assertThat(new Worker().hook(conf).metric(LIVE)).as("at Storm's default of 60 s").isNotNull();
    }

    @Test
    void nothingIsRegisteredWhereThereIsNothingToReportMoreOften() {
        assertThat(new Worker().hook(Map.of()).registered).as("no sampler").isEmpty();
        assertThat(new Worker().hook(conf(Map.of(SAMPLER, "Another"), 10)).registered).isEmpty();
        assertThat(new Worker().hook(conf(OURS, 2)).registered).as("Storm reads as often").isEmpty();
        assertThat(new Worker(1, false).hook(conf(OURS, 10)).registered).as("another component").isEmpty();
    }

    @Test
    void withoutSystemBoltsSamplerThereIsNoDataPoint() {
        Worker worker = new Worker().hook(conf(OURS, 10));
        assertThat(worker.read(LIVE)).isNull();
        worker.context.registerMetric(SAMPLER, () -> 7, 10);
        assertThat(worker.read(LIVE)).as("a metric of another class").isNull();
    }

    @Test
    void aContextThatRefusesLeavesTheSamplerAlone() {
        try (Logged log = new Logged(LiveSampler.class)) {
            assertThat(new Worker(SYSTEM_TASK, true).hook(conf(OURS, 10)).registered).isEmpty();
            assertThat(log.lines()).singleElement().asString().contains("Live reports of CPU, heap and GC are not possible");
        }
    }

    @Test
    void aFailureEndsTheLiveReportsAndIsLoggedOnce() {
        Map<Integer, Map<Integer, Map<String, IMetric>>> hostile = new HashMap<>() {
            @Override
            public Collection<Map<Integer, Map<String, IMetric>>> values() {
                if (containsKey(2)) { // when the live reports look for the sampler
                    throw new IllegalStateException("hostile");
                }
                return super.values();
            }
        };
        new LatencyHook().prepare(conf(OURS, 10), Worker.context(SYSTEM_TASK, false, hostile));
        IMetric live = hostile.get(2).get(SYSTEM_TASK).get(LIVE);
        try (Logged log = new Logged(LiveSampler.class)) {
            assertThat(Arrays.asList(live.getValueAndReset(), live.getValueAndReset())).containsOnlyNulls();
            assertThat(log.lines()).hasSize(1);
        }
    }

    private static Map<String, Object> conf(Map<String, Object> workerMetrics, int seconds) {
        return Map.of("topology.worker.metrics", workerMetrics, "topology.builtin.metrics.bucket.size.secs", seconds);
    }
}
