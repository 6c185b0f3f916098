package io.github.bulletmetrics.storm.hooks;

import java.lang.management.ManagementFactory;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.BoltAckInfo;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.hooks.info.SpoutAckInfo;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

/**
 * A saturated topology of Storm 2.8.3 in this JVM, with a hook or without; prints the CPU of a record.
 *
 * <p>One spout, named as Bullet's record source, emits (record, timestamp) with acking as fast as it may; one bolt, named FilterBolt, acknowledges; one
 * acker. What a record costs is all of the process' CPU over all records in the bolt, compiling and collecting garbage included.
 */
public final class HookCase {
    /** By records, not by time: a busy machine needs more of that until all is compiled. */
    private static final long WARM_UP_RECORDS = 1_000_000;
    private static final long MEASURED_RECORDS = 1_000_000;
    private static final long TO_COUNT_RECORDS = 50_000;
    private static final com.sun.management.OperatingSystemMXBean PROCESS =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final LongAdder RECORDS = new LongAdder();
    private static final LongAdder EVENTS = new LongAdder();

    private HookCase() {
    }

    /** Does nothing: what it costs is Storm's part of any hook. */
    public static final class Empty extends BaseTaskHook {
    }

    /** Counts what Storm tells a hook. */
    public static final class Counting extends BaseTaskHook {
        @Override
        public void emit(EmitInfo info) {
            EVENTS.increment();
        }

        @Override
        public void spoutAck(SpoutAckInfo info) {
            EVENTS.increment();
        }

        @Override
        public void boltExecute(BoltExecuteInfo info) {
            EVENTS.increment();
        }

        @Override
        public void boltAck(BoltAckInfo info) {
            EVENTS.increment();
        }
    }

    /** Emits as fast as it may. */
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
            out.emit(new Values("record", System.currentTimeMillis()), id++);
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
            RECORDS.increment();
            out.ack(record);
        }

        @Override
        public void declareOutputFields(OutputFieldsDeclarer declarer) {
            // Emits nothing.
        }
    }

    /**
     * Runs it.
     *
     * @param arguments the hook's class; none for none.
     */
    public static void main(String[] arguments) throws Exception {
        Config conf = new Config();
        conf.setNumAckers(1);
        conf.setMaxSpoutPending(1_000);
        if (arguments.length > 0) {
            conf.put(Config.TOPOLOGY_AUTO_TASK_HOOKS, Collections.singletonList(arguments[0]));
        }
        TopologyBuilder topology = new TopologyBuilder();
        topology.setSpout("DataSource", new Source());
        topology.setBolt("FilterBolt", new Filter()).shuffleGrouping("DataSource");
        try (LocalCluster cluster = new LocalCluster()) {
            cluster.submitTopology("hooks", conf, topology.createTopology());
            boolean counting = arguments.length > 0 && arguments[0].equals(Counting.class.getName());
            awaitRecords(counting ? TO_COUNT_RECORDS : WARM_UP_RECORDS);
            long records = RECORDS.sum();
            long events = EVENTS.sum();
            long cpu = PROCESS.getProcessCpuTime();
            awaitRecords(records + (counting ? TO_COUNT_RECORDS : MEASURED_RECORDS));
            long done = RECORDS.sum() - records;
            System.out.printf(Locale.ROOT, "RESULT %.1f %.3f %d%n", (double) (PROCESS.getProcessCpuTime() - cpu) / done, (double) (EVENTS.sum() - events) / done, done);
            KillOptions now = new KillOptions();
            now.set_wait_secs(0);
            cluster.killTopologyWithOpts("hooks", now);
        }
        System.exit(0);
    }

    private static void awaitRecords(long records) throws InterruptedException {
        while (RECORDS.sum() < records) {
            Thread.sleep(10);
        }
    }
}
