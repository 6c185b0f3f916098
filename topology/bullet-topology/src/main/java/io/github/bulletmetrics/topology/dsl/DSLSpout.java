package io.github.bulletmetrics.topology.dsl;

import com.yahoo.bullet.dsl.BulletDSLException;
import com.yahoo.bullet.dsl.connector.BulletConnector;
import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.storm.BuiltInMetric;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.Streams;
import io.github.bulletmetrics.topology.dsl.kafka.KafkaLag;
import io.github.bulletmetrics.topology.dsl.kafka.KafkaTap;
import io.github.bulletmetrics.topology.source.LeftOut;
import io.github.bulletmetrics.topology.source.SourceFigures;
import io.github.bulletmetrics.topology.source.SourceSettings;

import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Values;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Reads messages with a connector of bullet-dsl. With the DSL bolt, each read that brought something is one tuple of
 * (messages, ms when emitted), so that {@code topology.max.spout.pending} counts batches; without it, each message is
 * converted here and is one tuple of (record, ms when emitted).
 *
 * <p>As in Bullet, every tuple has the same message id: Storm then counts it as pending until it is acked, which is all
 * that it is for. A tuple that fails is not read again.
 */
public class DSLSpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(DSLSpout.class);
    /** The message id of every tuple. */
    static final Long MESSAGE_ID = 42L;

    private final BulletStormConfig config;
    private final SourceSettings settings;
    private final BulletConnector connector;
    /** Null with the DSL bolt, which then converts. */
    private final RecordMaker maker;
    private transient SpoutOutputCollector collector;
    private transient Arrivals arrivals;
    private transient Sampling sampling;
    private transient SourceFigures figures;
    /** Null where the connector is not Kafka's. */
    private transient KafkaLag lag;
    private transient boolean failing;

    /**
     * Makes the connector and, without the DSL bolt, the converter and the deserializer.
     *
     * @param config the topology's settings.
     * @throws IllegalArgumentException names the setting that is wrong and what to do.
     */
    public DSLSpout(BulletStormConfig config) {
        this.config = config;
        settings = SourceSettings.from(config);
        DSLParts parts = new DSLParts(config);
        connector = parts.connector();
        maker = parts.hasBolt() ? null : parts.recordMaker();
    }

    /** The connector that reads. */
    protected BulletConnector connector() {
        return connector;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        arrivals = new Arrivals();
        sampling = new Sampling(settings.samplingPercentage(), new SplittableRandom()::nextDouble);
        figures = new SourceFigures(config, context);
        try {
            KafkaTap.whileOpening(arrivals, () -> start(conf, context, collector));
        } catch (BulletDSLException e) {
            throw new IllegalStateException(connector.getClass().getName() + " failed to initialize", e);
        }
        registerMetrics();
    }

    /** Readies the connector for its first read. */
    void start(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector)
            throws BulletDSLException {
        connector.initialize();
    }

    private void registerMetrics() {
        figures.with(BuiltInMetric.SOURCE_RECORDS, figures::records).leavingOut(maker == null
            ? List.of(LeftOut.EMPTY, LeftOut.SAMPLING) : List.of(LeftOut.EMPTY, LeftOut.SAMPLING, LeftOut.CONVERSION));
        if (DSLParts.readsKafka(connector)) {
            lag = KafkaLag.of(connector);
            figures.with(BuiltInMetric.SOURCE_BYTES, arrivals::bytes)
                .with(BuiltInMetric.SOURCE_REPEATED, arrivals::repeated)
                .with(BuiltInMetric.SOURCE_LAG, lag::records);
        }
    }

    @Override
    public void activate() {
        LOG.info("Activated {}", getClass().getSimpleName());
    }

    @Override
    public void deactivate() {
        LOG.info("Deactivated {}", getClass().getSimpleName());
    }

    @Override
    public void nextTuple() {
        Batch batch = read();
        if (batch.isEmpty()) {
            return;
        }
        if (maker == null) {
            emitBatch(batch);
        } else {
            emitRecords(batch);
        }
    }

    private Batch read() {
        arrivals.clear();
        try {
            List<Object> messages = connector.read();
            if (lag != null) {
                lag.polled();
            }
            failing = false;
            figures.addRecords(messages.size());
            return Batch.of(messages, arrivals, settings.timestampField() != null, sampling, figures);
        } catch (BulletDSLException e) {
            // Storm interrupts this thread when the topology is killed.
            if (!failing && !Thread.currentThread().isInterrupted()) {
                failing = true;
                LOG.error("{} cannot read messages; retrying", connector.getClass().getName(), e);
            }
            return Batch.empty();
        }
    }

    private void emitBatch(Batch batch) {
        Values values = new Values(batch.messages(), System.currentTimeMillis());
        if (settings.timestampField() != null) {
            values.add(batch.receivedMs());
        }
        collector.emit(values, MESSAGE_ID);
    }

    private void emitRecords(Batch batch) {
        for (int i = 0; i < batch.messages().size(); i++) {
            BulletRecord<?> record = maker.make(batch.messages().get(i), batch.receivedMs(i));
            if (record == null) {
                figures.leaveOut(LeftOut.CONVERSION);
            } else {
                collector.emit(new Values(record, System.currentTimeMillis()), MESSAGE_ID);
            }
        }
    }

    @Override
    public void close() {
        try {
            connector.close();
        } catch (Exception e) { // The interface allows any.
            LOG.error("Failed to close {}", connector.getClass().getName(), e);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        boolean timed = maker == null && settings.timestampField() != null;
        declarer.declare(timed ? Streams.TIMED_BATCH_FIELDS : Streams.RECORD_FIELDS);
    }
}
