package io.github.bulletmetrics.topology.dsl;

import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.Streams;
import io.github.bulletmetrics.topology.source.LeftOut;
import io.github.bulletmetrics.topology.source.SourceFigures;

import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;

import java.util.List;
import java.util.Map;

/**
 * Makes records of the DSL spout's batches and emits each as (record, ms when emitted), not anchored; then acks the
 * batch. So, as in Bullet, max spout pending holds back batches that are not converted, and not records that no filter
 * bolt has seen.
 */
public final class DSLBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;

    private final BulletStormConfig config;
    private final RecordMaker maker;
    private transient OutputCollector collector;
    private transient SourceFigures figures;

    /**
     * Makes the converter and the deserializer.
     *
     * @param config the topology's settings.
     * @throws IllegalArgumentException names the setting that is wrong and what to do.
     */
    public DSLBolt(BulletStormConfig config) {
        this.config = config;
        maker = new DSLParts(config).recordMaker();
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        figures = new SourceFigures(config, context).leavingOut(List.of(LeftOut.CONVERSION));
    }

    @Override
    public void execute(Tuple batch) {
        List<?> messages = (List<?>) batch.getValue(0);
        List<?> receivedMs = batch.size() > 2 ? (List<?>) batch.getValue(2) : List.of();
        for (int i = 0; i < messages.size(); i++) {
            emit(messages.get(i), receivedMs.isEmpty() ? null : (Long) receivedMs.get(i));
        }
        collector.ack(batch);
    }

    private void emit(Object message, Long receivedMs) {
        BulletRecord<?> record = maker.make(message, receivedMs);
        if (record == null) {
            figures.leaveOut(LeftOut.CONVERSION);
        } else {
            collector.emit(new Values(record, System.currentTimeMillis()));
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(Streams.RECORD_FIELDS);
    }
}
