package io.github.bulletmetrics.topology.compat;

import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;

import java.util.List;
import java.util.Map;

/** The spouts of {@link SmallTopology}: each emits so many tuples at its pace, anchored, and then no more. */
final class SmallSpouts {
    private SmallSpouts() {
    }

    private abstract static class Finite extends BaseRichSpout {
        private static final long serialVersionUID = 1L;

        private final int count;
        private final int perSecond;
        private SpoutOutputCollector collector;
        private long begin;
        private int emitted;

        Finite(int count, int perSecond) {
            this.count = count;
            this.perSecond = perSecond;
        }

        abstract List<Object> tuple(int number);

        @Override
        @SuppressWarnings("rawtypes") // The signature of Storm 1.x, whose erasure is that of 2.x.
        public void open(Map conf, TopologyContext context, SpoutOutputCollector to) {
            collector = to;
            begin = System.nanoTime();
        }

        @Override
        public void nextTuple() {
            if (emitted < count && System.nanoTime() - begin >= emitted * 1_000_000_000L / perSecond) {
                collector.emit(tuple(emitted), emitted);
                emitted++;
            }
        }
    }

    /** (record), and from Bullet 0.4.3 on (record, timestamp). */
    static final class Records extends Finite {
        private static final long serialVersionUID = 1L;

        private final BulletRelease bullet;

        Records(BulletRelease bullet) {
            super(SmallTopology.RECORDS, SmallTopology.RECORDS_A_SECOND);
            this.bullet = bullet;
        }

        @Override
        List<Object> tuple(int number) {
            String record = "record-" + number;
            return bullet.hasFilterLatency() ? new Values(record, System.currentTimeMillis()) : new Values(record);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(bullet.hasFilterLatency() ? new Fields("record", "timestamp") : new Fields("record"));
        }
    }

    /** (id, query); from Bullet 1.0 on it has a metric of its own. */
    static final class Queries extends Finite {
        private static final long serialVersionUID = 1L;

        private final BulletRelease bullet;

        Queries(BulletRelease bullet) {
            super(SmallTopology.QUERIES, 2);
            this.bullet = bullet;
        }

        @Override
        @SuppressWarnings("rawtypes")
        public void open(Map conf, TopologyContext context, SpoutOutputCollector to) {
            super.open(conf, context, to);
            if (bullet.hasReplays()) {
                context.registerMetric("bullet_active_replays", () -> 1L, SmallTopology.INTERVAL_SECONDS);
            }
        }

        @Override
        List<Object> tuple(int number) {
            return new Values("query-" + number, "SELECT * FROM STREAM()");
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("id", "query"));
        }
    }
}
