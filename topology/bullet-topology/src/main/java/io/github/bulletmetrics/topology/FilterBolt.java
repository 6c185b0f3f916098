package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.querying.Querier;
import com.yahoo.bullet.querying.QueryCategorizer;
import com.yahoo.bullet.querying.QueryManager;
import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.storm.BuiltInMetric;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.metrics.BuiltInMetrics;

import org.apache.storm.metric.api.MeanReducer;
import org.apache.storm.metric.api.ReducedMetric;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Map;

/**
 * Shows each record to every query (to those of its partition, where a partitioner is set) and emits a query's partial
 * result when it is done or its window has closed. Acks each record once all queries have seen it.
 */
public final class FilterBolt extends QueryBolt {
    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(FilterBolt.class);

    private final String recordComponent;
    private final StageStamps stamps;
    private transient QueryManager queries;
    private transient ReducedMetric latency;
    private transient int ticksToReport;
    private transient int ticks;
    private transient long duplicates;

    /**
     * Keeps the settings for the worker.
     *
     * @param recordComponent the component whose tuples are records.
     * @param config the topology's settings.
     */
    public FilterBolt(String recordComponent, BulletStormConfig config) {
        super(config);
        this.recordComponent = recordComponent;
        stamps = StageStamps.from(config);
    }

    @Override
    protected void prepare(BuiltInMetrics metrics, TopologyContext context) {
        queries = new QueryManager(config);
        ticksToReport = config.getAs(BulletStormConfig.FILTER_BOLT_STATS_REPORT_TICKS, Integer.class);
        latency = metrics.register(BuiltInMetric.FILTER_LATENCY, new ReducedMetric(new MeanReducer()), context);
    }

    @Override
    protected boolean onOther(Tuple tuple) {
        if (!recordComponent.equals(tuple.getSourceComponent())) {
            return false;
        }
        BulletRecord<?> record = (BulletRecord<?>) tuple.getValue(0);
        Long emittedMs = tuple.size() > 1 ? tuple.getLong(1) : null;
        stamps.stamp(record, emittedMs, System.currentTimeMillis());
        emit(queries.categorize(record));
        if (emittedMs != null) {
            latency.update(System.currentTimeMillis() - emittedMs);
        }
        return true;
    }

    @Override
    protected void onTick() {
        emit(queries.categorize());
        if (++ticks >= ticksToReport) {
            ticks = 0;
            LOG.info("Queries: {}; duplicates: {}", queries.getStats(), duplicates);
        }
    }

    private void emit(QueryCategorizer category) {
        category.getDone().forEach(this::emitData);
        category.getDone().keySet().forEach(this::endQuery);
        category.getRateLimited().forEach(this::emitError);
        category.getRateLimited().keySet().forEach(this::endQuery);
        category.getClosed().forEach(this::emitData);
        category.getClosed().values().forEach(Querier::reset);
    }

    private void emitData(String id, Querier querier) {
        byte[] data = querier.getData();
        if (data != null) {
            collector.emit(Streams.DEFAULT_STREAM, new Values(id, data));
        }
    }

    private void emitError(String id, Querier querier) {
        collector.emit(Streams.ERROR_STREAM, new Values(id, querier.getRateLimitError()));
    }

    @Override
    protected Querier.Mode mode() {
        return Querier.Mode.PARTITION;
    }

    @Override
    protected boolean hasQuery(String id) {
        return queries.hasQuery(id);
    }

    @Override
    protected void addQuery(String id, Metadata metadata, Querier querier) {
        queries.addQuery(id, querier);
    }

    @Override
    protected void removeQuery(String id) {
        queries.removeAndGetQuery(id);
    }

    @Override
    protected void onDuplicate(String id) {
        duplicates++;
    }

    /** The join bolt gets the same query and answers for it. */
    @Override
    protected void onImproper(PubSubMessage message, RuntimeException cause) {
        LOG.debug("Cannot start query {}", message.getId(), cause);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declareStream(Streams.DEFAULT_STREAM, new Fields(Streams.ID, Streams.DATA));
        declarer.declareStream(Streams.ERROR_STREAM, new Fields(Streams.ID, Streams.ERROR));
        declarer.declareStream(Streams.FEEDBACK_STREAM, new Fields(Streams.ID, Streams.METADATA));
    }
}
