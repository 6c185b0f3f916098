package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;

import clojure.lang.Atom;
import io.github.bulletmetrics.storm.latency.LatencyPack;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.tuple.Values;
import org.junit.jupiter.api.Test;

/** The hook on Storm's own context, tuples and info objects. */
class LatencyHookTest {
    private static final Map<Integer, String> TASKS = Map.of(1, "DataSource", 2, "QuerySpout", 3, "TickSpout", 4,
            "ReplayBolt", 5, "FilterBolt",
            6, "JoinBolt", 7, "LoopBolt", 8, "__acker", 70_000, "DataSource");
    private final Map<Integer, Map<Integer, Map<String, IMetric>>> registered = new HashMap<>();
    private LatencyHook hook;

    /** As Bullet's, as far as the hook asks. */
    public static final class Metadata {
        /** Bullet's signals, some of them. */
        public enum Signal { COMPLETE, FAIL, KILL, CUSTOM }

        private final Signal signal;

        Metadata(Signal signal) {
            this.signal = signal;
        }

        public Signal getSignal() {
            return signal;
        }
    }

    @Test
    void inAFilterBoltARecordIsTimedFromItsTimestamp() {
        hookOf(5);
        long before = System.currentTimeMillis();
        hook.boltExecute(executed(1, "default", "record", before - 5_000));
        hook.boltExecute(executed(70_000, "default", "record", before - 5_000));
        long took = System.currentTimeMillis() - before;
        LatencyPack.Distribution latency = latency("bullet_filter_latency_seconds", "");
        assertThat(latency.count()).isEqualTo(2);
        assertThat(latency.sumSeconds() * 1_000).isBetween(10_000.0, 10_000.0 + 2 * took);
        assertThat(latency.negatives()).isZero();
        hook.boltExecute(executed(1, "default", "record", before + 3_600_000));
        assertThat(latency("bullet_filter_latency_seconds", "").negatives()).isEqualTo(1);
        assertThat(latency("bullet_filter_latency_seconds", "").count())
                .as("since the start, not since the last reading").isEqualTo(2);
    }

    @Test
    void inAFilterBoltNothingButRecordsIsTimed() {
        hookOf(5);
        hook.boltExecute(executed(2, "default", "id", System.currentTimeMillis()));
        hook.boltExecute(executed(3, "default", "tick", System.currentTimeMillis()));
        hook.boltExecute(executed(4, "default", "id", System.currentTimeMillis()));
        hook.boltExecute(executed(-1, "__tick", 10, System.currentTimeMillis()));
        hook.boltExecute(executed(1, "default", "a record of Bullet 0.4.2, without a timestamp"));
        hook.boltExecute(executed(1, "default", "record", "no number"));
        hook.boltExecute(executed(1, "default", "record", null));
        hook.emit(emitted("default", "id", new byte[0]));
        assertThat(latency("bullet_filter_latency_seconds", "").count()).isZero();
        assertThat(counts()).containsExactly(Map.entry("failed", 0L));
    }

    @Test
    void inAJoinBoltAQueryIsTimedFromItsArrivalToItsResult() {
        hookOf(6);
        hook.boltExecute(executed(2, "default", "a", "the query"));
        hook.boltExecute(executed(2, "default", "b", "the query"));
        hook.boltExecute(executed(2, "default", "killed", "the query"));
        hook.boltExecute(executed(5, "default", "a", new byte[0]));
        hook.emit(emitted("default", "a", "window", new Metadata(null)));
        hook.emit(emitted("default", "a", "window", null));
        hook.emit(emitted("default", "a", "result", new Metadata(Metadata.Signal.COMPLETE)));
        hook.emit(emitted("feedback", "a", new Metadata(Metadata.Signal.COMPLETE)));
        hook.boltExecute(executed(2, "metadata", "a", new Metadata(Metadata.Signal.COMPLETE)));
        hook.emit(emitted("default", "b", "error", new Metadata(Metadata.Signal.FAIL)));
        hook.boltExecute(executed(2, "metadata", "killed", new Metadata(Metadata.Signal.KILL)));
        hook.emit(emitted("default", "replayed", "result", new Metadata(Metadata.Signal.COMPLETE)));
        hook.boltExecute(executed(2, "default", "c", "the query"));
        assertThat(latency("bullet_query_engine_latency_seconds", "complete").count()).isEqualTo(1);
        assertThat(latency("bullet_query_engine_latency_seconds", "fail").count()).isEqualTo(1);
        assertThat(latency("bullet_query_first_result_latency_seconds", "").count()).isEqualTo(2);
        assertThat(counts()).containsOnly(Map.entry("failed", 0L), Map.entry("unseen", 1L), Map.entry("evicted", 0L));
    }

    @Test
    void inAJoinBoltAQueryIsTimedFromItsCreationToo() {
        hookOf(6);
        com.yahoo.bullet.pubsub.Metadata metadata = new com.yahoo.bullet.pubsub.Metadata(null, null);
        metadata.setCreated(System.currentTimeMillis() - 60_000);
        hook.boltExecute(executed(2, "default", "a", new com.yahoo.bullet.pubsub.PubSubMessage("a", "the query",
                metadata)));
        hook.emit(emitted("default", "a", "result", new Metadata(Metadata.Signal.COMPLETE)));
        hook.boltExecute(executed(2, "default", "b", "the query of a Bullet that does not say"));
        hook.emit(emitted("default", "b", "error", new Metadata(Metadata.Signal.FAIL)));
        assertThat(latency("bullet_query_created_latency_seconds", "complete").count()).isEqualTo(1);
        assertThat(latency("bullet_query_created_latency_seconds", "complete").sumSeconds()).isBetween(60.0, 90.0);
        assertThat(latency("bullet_query_engine_latency_seconds", "complete").sumSeconds()).isLessThan(30);
        assertThat(latency("bullet_query_engine_latency_seconds", "fail").count()).isEqualTo(1);
        assertThat(latency("bullet_query_created_latency_seconds", "fail").count()).isZero();
        assertThat(counts()).containsEntry("failed", 0L);
    }

    @Test
    void whatStormItselfEmitsOnItsStartUpThreadIsNotLookedAt() {
        hookOf(6);
        hook.emit(new EmitInfo(clojure.lang.PersistentVector.create("startup"), "__system", 6,
                Collections.emptyList()));
        hook.emit(emitted("default", "id"));
        assertThat(counts()).containsEntry("failed", 0L);
    }

    @Test
    void everyBoltsExecuteTimeIsThatOfTheTuplesThatStormTimed() {
        for (int task : new int[] {4, 5, 6, 7}) {
            hookOf(task);
            hook.boltExecute(timed(null));
            hook.boltExecute(timed(-1L));
            hook.boltExecute(timed(7L));
            hook.boltExecute(timed(0L));
            assertThat(value("bullet-metrics.execute")).isExactlyInstanceOf(HashMap.class)
                    .isEqualTo(Map.of("ms", 140L, "samples", 2L));
        }
        registered.clear();
        hook = new LatencyHook();
        hook.prepare(Map.of("topology.stats.sample.rate", 0.3), context(7, false));
        hook.boltExecute(timed(7L));
        assertThat(value("bullet-metrics.execute")).as("Storm takes one of each three then")
                .isEqualTo(Map.of("ms", 21L, "samples", 1L));
        hook.boltExecute(null);
        assertThat(value("bullet-metrics.execute")).as("no data point").isNull();
    }

    @Test
    void inSpoutsAndStormsOwnComponentsNothingIsRegisteredAndNothingDone() {
        for (int task : new int[] {1, 2, 3, 8}) {
            hookOf(task);
            hook.boltExecute(null);
            hook.emit(null);
        }
        assertThat(registered).isEmpty();
    }

    @Test
    void itReportsAsOftenAsStormsOwnCountsDo() {
        hookOf(5);
        assertThat(registered.keySet()).containsExactly(10);
        registered.clear();
        hook = new LatencyHook();
        hook.prepare(Map.of(), context(5, false));
        assertThat(registered.keySet()).containsExactly(60);
    }

    @Test
    void whateverGoesWrongEndsTheMeasuringAndNothingElse() {
        hookOf(5);
        hook.boltExecute(executed(1, "default", "record", System.currentTimeMillis()));
        hook.boltExecute(null);
        hook.boltExecute(executed(1, "default", "record", System.currentTimeMillis()));
        assertThat(value("bullet-metrics.latency")).as("no data point").isNull();
        assertThat(counts()).containsExactly(Map.entry("failed", 1L));

        hookOf(6);
        hook.emit(emitted("default", "a", "result", "metadata without a signal"));
        assertThat(value("bullet-metrics.latency")).isNull();
        assertThat(counts()).containsEntry("failed", 1L);
    }

    @Test
    void aContextThatRefusesEverythingStopsNothing() {
        hook = new LatencyHook();
        hook.prepare(Map.of(), context(5, true));
        hook.boltExecute(executed(1, "default", "record", 1L));
        hook.prepare(null, null);
        hook.cleanup();
        assertThat(registered).isEmpty();
    }

    @Test
    void whatItSendsIsOfTypesThatKryoKnowsEverywhere() {
        hookOf(6);
        assertThat(value("bullet-metrics.latency")).isExactlyInstanceOf(byte[].class);
        assertThat(counts()).isExactlyInstanceOf(HashMap.class);
    }

    private void hookOf(int task) {
        registered.clear();
        hook = new LatencyHook();
        hook.prepare(Map.of("topology.builtin.metrics.bucket.size.secs", 10L), context(task, false));
    }

    private TopologyContext context(int task, boolean begun) {
        Map<String, Map<String, Fields>> fields = new HashMap<>();
        Map<String, Bolt> bolts = new HashMap<>();
        for (String bolt : List.of("ReplayBolt", "FilterBolt", "JoinBolt", "LoopBolt", "__acker")) {
            bolts.put(bolt, new Bolt());
        }
        StormTopology topology = new StormTopology(new HashMap<>(), bolts, new HashMap<>());
        return new TopologyContext(topology, new HashMap<>(), TASKS, new HashMap<>(), fields, "bullet-1-1700000000", "",
                "", task, 6700,
                Collections.singletonList(task), new HashMap<>(), new HashMap<>(), new HashMap<>(), registered,
                new Atom(begun));
    }

    private BoltExecuteInfo executed(int fromTask, String stream, Object... values) {
        return new BoltExecuteInfo(tuple(fromTask, stream, values), 5, null);
    }

    private BoltExecuteInfo timed(Long tookMs) {
        return new BoltExecuteInfo(tuple(1, "default", "record", 1L), 5, tookMs);
    }

    private Tuple tuple(int fromTask, String stream, Object... values) {
        String component = fromTask < 0 ? "__system" : TASKS.get(fromTask);
        String[] names = new String[values.length];
        Arrays.setAll(names, i -> "field" + i);
        Map<Integer, String> tasks = new HashMap<>(TASKS);
        tasks.put(-1, "__system");
        TopologyContext context = new TopologyContext(new StormTopology(new HashMap<>(), new HashMap<>(),
                new HashMap<>()), new HashMap<>(), tasks,
                new HashMap<>(), Map.of(component, Map.of(stream, new Fields(names))), "bullet-1-1700000000", "", "", 5,
                6700, List.of(5), new HashMap<>(),
                new HashMap<>(), new HashMap<>(), new HashMap<>(), new Atom(false));
        return new TupleImpl(context, new Values(values), fromTask, stream);
    }

    private static EmitInfo emitted(String stream, Object... values) {
        return new EmitInfo(new Values(values), stream, 6, Collections.emptyList());
    }

    private Object value(String metric) {
        return registered.values().iterator().next().values().iterator().next().get(metric).getValueAndReset();
    }

    @SuppressWarnings("unchecked")
    private Map<String, Long> counts() {
        return (Map<String, Long>) value("bullet-metrics.latency-hook");
    }

    private LatencyPack.Distribution latency(String name, String key) {
        return LatencyPack.read((byte[]) value("bullet-metrics.latency")).distributions().stream()
                .filter(one -> one.name().equals(name) && one.key().equals(key)).findFirst().orElseThrow();
    }
}
