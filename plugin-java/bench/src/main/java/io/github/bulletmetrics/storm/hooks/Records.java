package io.github.bulletmetrics.storm.hooks;

import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/** Records as many as are asked for, from a spout to a bolt and acknowledged. One topology a JVM. */
final class Records {
    private static final long POLL_NS = TimeUnit.MILLISECONDS.toNanos(2);
    private static volatile long asked;
    private static volatile long acknowledged;
    private static volatile long failed;

    private Records() {
    }

    /** Returns when that many more have been acknowledged. */
    static void pass(long records) throws InterruptedException {
        long before = acknowledged;
        asked += records;
        while (acknowledged < asked) {
            LockSupport.parkNanos(POLL_NS);
        }
        if (failed > 0 || acknowledged != before + records) {
            throw new IllegalStateException("records were lost or came twice");
        }
    }

    /** Emits what is asked for as fast as it may. */
    public static final class Source extends BaseRichSpout {
        private static final long serialVersionUID = 1L;
        private transient SpoutOutputCollector out;
        private long id;

        @Override
        public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
            out = collector;
        }

        @Override
        public void nextTuple() {
            if (id < asked) {
                out.emit(new Values("record", System.currentTimeMillis()), id++);
            }
        }

        @Override
        public void ack(Object of) {
            acknowledged++; // this thread alone writes it
        }

        @Override
        public void fail(Object of) {
            failed++;
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            declarer.declare(new Fields("record", "timestamp"));
        }
    }

    /** Acknowledges. */
    public static final class Filter extends BaseRichBolt {
        private static final long serialVersionUID = 1L;
        private transient OutputCollector out;

        @Override
        public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
            out = collector;
        }

        @Override
        public void execute(Tuple record) {
            out.ack(record);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            // Emits nothing.
        }
    }
}
