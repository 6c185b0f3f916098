package io.github.bulletmetrics.topology.source;

import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.storm.BuiltInMetric;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.Streams;

import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Values;

import java.util.HashMap;
import java.util.Map;

/**
 * Emits generated records as (record, timestamp in ms), anchored, at a rate that the clock sets and not the topology:
 * what back-pressure holds up is caught up in batches and shows as lag meanwhile. Rates can be changed while it runs,
 * see {@link SourceControl}. A failed record is counted and not repeated, as Bullet's own spouts do it.
 */
public final class GeneratorSpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;

    private final BulletStormConfig config;
    private final GeneratorSettings settings;
    private transient SpoutOutputCollector collector;
    private transient Clock clock;
    private transient ControlClient client;
    private transient String topology;
    private transient int task;
    private transient volatile Emission emission;
    // Written by the executor's thread alone, read by the control client's for its report.
    private transient volatile long emitted;
    private transient volatile long acked;
    private transient volatile long failed;

    /**
     * Reads {@code bullet.topology.generator.*}.
     *
     * @param config the topology's settings.
     */
    public GeneratorSpout(BulletStormConfig config) {
        this.config = config;
        settings = GeneratorSettings.from(config);
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        topology = context.getStormId();
        task = context.getThisTaskId();
        clock = new Clock();
        int tasks = context.getComponentTasks(context.getThisComponentId()).size();
        emission = new Emission(settings, context.getThisTaskIndex(), tasks, clock.micros());
        registerMetrics(context);
        if (settings.controlUrl() != null) {
            client = new ControlClient(settings.controlUrl(), settings.controlPollMs(), this::report);
            client.start();
        }
    }

    /** No bytes: nothing was read of which there could be any. */
    private void registerMetrics(TopologyContext context) {
        new SourceFigures(config, context)
            .with(BuiltInMetric.SOURCE_RECORDS, () -> emitted)
            .with(BuiltInMetric.SOURCE_LAG, () -> emission.lag(clock.micros()))
            .with(BuiltInMetric.SOURCE_LEFT_OUT,
            () -> new HashMap<>(Map.of(LeftOut.LATE.reason(), emission.leftOut())));
    }

    @Override
    public void nextTuple() {
        long now = clock.micros();
        if (client != null && client.latest() != null) {
            emission.apply(client.latest(), now);
        }
        emission.leaveOutTooLate(now);
        for (int i = 0; i < settings.batchSize(); i++) {
            BulletRecord<?> record = emission.next(now);
            if (record == null) {
                return;
            }
            emitted = emitted + 1;
            collector.emit(new Values(record, System.currentTimeMillis()), emitted);
        }
    }

    private SourceReport report() {
        return new SourceReport(topology, task, emission.control().version(), emitted, acked, failed,
                                emission.lag(clock.micros()), emission.leftOut(), client.failures());
    }

    @Override
    public void ack(Object id) {
        acked = acked + 1;
    }

    @Override
    public void fail(Object id) {
        failed = failed + 1;
    }

    @Override
    public void close() {
        if (client != null) {
            client.close();
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(Streams.RECORD_FIELDS);
    }
}
