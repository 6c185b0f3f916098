package io.github.bulletmetrics.topology.compat;

import org.apache.storm.metric.api.MeanReducer;
import org.apache.storm.metric.api.ReducedMetric;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/** The bolts of {@link SmallTopology}, with metrics of the names and Java types that Bullet's have. */
final class SmallBolts {
    /**
     * What each task of JoinBolt reports: the counts once it has seen some queries, and 0 before, as Bullet's begin at
     * 0 again after a restart.
     */
    static final long ACTIVE = 7;
    static final long IMPROPER = 3;
    static final long RATE_EXCEEDED = 2;
    static final long DUPLICATED = 1;
    /** Queries of a task until then: more than come before the first report, fewer than come in all. */
    private static final int SOME_QUERIES = 8;
    /** What the task of ReplayBolt reports, in the same way. */
    static final long BATCHED = 10;
    static final Map<String, Long> CREATED_REPLAYS = Map.of("FilterBolt-3", 2L, "JoinBolt-5", 1L);
    /** What FilterBolt reports of each record, ms. */
    static final double FILTER_LATENCY_MS = 5;
    /** How long FilterBolt takes for a record, ms. */
    static final int EXECUTE_MS = 2;

    private SmallBolts() {
    }

    private abstract static class Bolt extends BaseRichBolt {
        private static final long serialVersionUID = 1L;

        transient OutputCollector collector;

        @Override
        @SuppressWarnings("rawtypes") // The signature of Storm 1.x, whose erasure is that of 2.x.
        public void prepare(Map conf, TopologyContext context, OutputCollector to) {
            collector = to;
            register(context);
        }

        void register(TopologyContext context) {
            // No metric of its own.
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            // No stream.
        }
    }

    /** Takes its time for each record, and lets JoinBolt know. */
    static final class Filter extends Bolt {
        private static final long serialVersionUID = 1L;

        private final BulletRelease bullet;
        private transient ReducedMetric latency;

        Filter(BulletRelease bullet) {
            this.bullet = bullet;
        }

        @Override
        void register(TopologyContext context) {
            latency = new ReducedMetric(new MeanReducer());
            if (bullet.hasFilterLatency()) {
                context.registerMetric("bullet_filter_latency", latency, SmallTopology.INTERVAL_SECONDS);
            }
        }

        @Override
        public void execute(Tuple tuple) {
            if (tuple.getSourceComponent().equals("DataSource")) {
                long until = System.nanoTime() + EXECUTE_MS * 1_000_000L;
                while (System.nanoTime() < until) {
                    Thread.onSpinWait();
                }
                latency.update(FILTER_LATENCY_MS);
                collector.emit(tuple, new Values(tuple.getString(0), new byte[0]));
            }
            collector.ack(tuple);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("id", "data"));
        }
    }

    /** Answers a query at once. */
    static final class Join extends Bolt {
        private static final long serialVersionUID = 1L;

        private final BulletRelease bullet;
        private transient AtomicLong created;

        Join(BulletRelease bullet) {
            this.bullet = bullet;
        }

        @Override
        void register(TopologyContext context) {
            created = new AtomicLong();
            context.registerMetric("bullet_active_" + bullet.queries(), () -> ACTIVE, SmallTopology.INTERVAL_SECONDS);
            count(context, "bullet_improper_" + bullet.queries(), IMPROPER);
            context.registerMetric("bullet_created_" + bullet.queries(), () -> created.get(),
                    SmallTopology.INTERVAL_SECONDS);
            if (bullet.hasRateExceeded()) {
                count(context, "bullet_rate_exceeded_queries", RATE_EXCEEDED);
            }
            if (bullet.hasDuplicated()) {
                count(context, "bullet_duplicated_queries", DUPLICATED);
            }
        }

        private void count(TopologyContext context, String name, long value) {
            context.registerMetric(name, () -> created.get() < SOME_QUERIES ? 0 : value,
                    SmallTopology.INTERVAL_SECONDS);
        }

        @Override
        public void execute(Tuple tuple) {
            if (tuple.getSourceComponent().equals(bullet.querySpout())) {
                created.incrementAndGet();
                collector.emit(tuple, new Values(tuple.getString(0), "{}", new Metadata(Signal.COMPLETE)));
            }
            collector.ack(tuple);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("id", "result", "metadata"));
        }
    }

    /** The end of a query. */
    static final class Result extends Bolt {
        private static final long serialVersionUID = 1L;

        @Override
        public void execute(Tuple tuple) {
            collector.ack(tuple);
        }
    }

    /** From Bullet 1.0 on: of its metrics two are maps. */
    static final class Replay extends Bolt {
        private static final long serialVersionUID = 1L;

        private transient AtomicLong seen;

        @Override
        void register(TopologyContext context) {
            seen = new AtomicLong();
            context.registerMetric("bullet_batched_queries", () -> BATCHED, SmallTopology.INTERVAL_SECONDS);
            context.registerMetric("bullet_active_replays",
                    () -> new HashMap<>(Map.of("FilterBolt-3", 1, "JoinBolt-5", 0)),
                SmallTopology.INTERVAL_SECONDS);
            context.registerMetric("bullet_created_replays", this::created, SmallTopology.INTERVAL_SECONDS);
        }

        private Map<String, Long> created() {
            Map<String, Long> created = new HashMap<>(CREATED_REPLAYS);
            // It sees the queries of all tasks.
            created.replaceAll((target, count) -> seen.get() < SOME_QUERIES * SmallTopology.JOIN_TASKS ? 0 : count);
            return created;
        }

        @Override
        public void execute(Tuple tuple) {
            seen.incrementAndGet();
            collector.ack(tuple);
        }
    }

    /** What Bullet's metadata says of a result. */
    enum Signal { COMPLETE }

    /** As much of Bullet's metadata as the latency hook asks for. */
    public static final class Metadata {
        private final Signal signal;

        Metadata(Signal signal) {
            this.signal = signal;
        }

        /** The last of a query. */
        public Signal getSignal() {
            return signal;
        }
    }
}
