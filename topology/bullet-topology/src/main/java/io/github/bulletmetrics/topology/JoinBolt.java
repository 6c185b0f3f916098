package io.github.bulletmetrics.topology;

import com.yahoo.bullet.common.BulletError;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.querying.Querier;
import com.yahoo.bullet.querying.QueryCategorizer;
import com.yahoo.bullet.querying.RateLimitError;
import com.yahoo.bullet.result.Clip;
import com.yahoo.bullet.result.Meta;
import com.yahoo.bullet.storm.BuiltInMetric;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.metrics.BuiltInMetrics;
import io.github.bulletmetrics.topology.metrics.TotalCount;

import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;

/**
 * Combines what the filter bolts found for a query and emits its result, its windows or its error. A query's end is
 * also emitted as a signal that the loop bolt carries back to the filter bolts.
 */
public final class JoinBolt extends QueryBolt {
    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(JoinBolt.class);

    private transient JoinedQueries queries;
    private transient TotalCount created;
    private transient TotalCount improper;
    private transient TotalCount rateExceeded;
    private transient TotalCount duplicated;

    /**
     * Keeps the settings for the worker.
     *
     * @param config the topology's settings.
     */
    public JoinBolt(BulletStormConfig config) {
        super(config);
    }

    @Override
    protected void prepare(BuiltInMetrics metrics, TopologyContext context) {
        queries = new JoinedQueries(
            config.getAs(BulletStormConfig.JOIN_BOLT_WINDOW_PRE_START_DELAY_TICKS, Integer.class),
            config.getAs(BulletStormConfig.JOIN_BOLT_QUERY_POST_FINISH_BUFFER_TICKS, Integer.class));
        IMetric active = () -> (long) queries.active();
        metrics.register(BuiltInMetric.ACTIVE_QUERIES, active, context);
        created = metrics.register(BuiltInMetric.CREATED_QUERIES, new TotalCount(), context);
        improper = metrics.register(BuiltInMetric.IMPROPER_QUERIES, new TotalCount(), context);
        rateExceeded = metrics.register(BuiltInMetric.RATE_EXCEEDED_QUERIES, new TotalCount(), context);
        duplicated = metrics.register(BuiltInMetric.DUPLICATED_QUERIES, new TotalCount(), context);
    }

    @Override
    protected boolean onOther(Tuple tuple) {
        if (!Streams.FILTER_COMPONENT.equals(tuple.getSourceComponent())) {
            return false;
        }
        String id = tuple.getString(0);
        Querier querier = queries.get(id);
        if (querier == null) {
            LOG.debug("Skipped data of query {}: it has ended or is not known yet", id);
        } else if (Streams.ERROR_STREAM.equals(tuple.getSourceStreamId())) {
            endByRate(id, querier, (RateLimitError) tuple.getValue(1));
        } else {
            querier.combine(tuple.getBinary(1));
            afterData(id, querier);
        }
        return true;
    }

    private void afterData(String id, Querier querier) {
        if (querier.isDone()) {
            endOrWait(id, querier);
        } else if (querier.isExceedingRateLimit()) {
            endByRate(id, querier, querier.getRateLimitError());
        } else if (querier.isClosed()) {
            emitWindow(id, querier);
        }
    }

    @Override
    protected void onTick() {
        queries.tick().forEach(this::end);
        QueryCategorizer category = queries.categorizeRunning();
        category.getDone().forEach(this::endOrWait);
        category.getRateLimited().forEach((id, querier) -> endByRate(id, querier, querier.getRateLimitError()));
        category.getClosed().forEach(this::emitWindow);
    }

    /** A query that may still get data from other filter bolts waits for it, unless it is full. */
    private void endOrWait(String id, Querier querier) {
        if (!querier.shouldBuffer() || querier.isClosed()) {
            end(id, querier);
        } else {
            queries.finish(id);
        }
    }

    private void end(String id, Querier querier) {
        emitResult(id, querier.finish(), withSignal(id, Metadata.Signal.COMPLETE));
        emitSignal(id, Metadata.Signal.COMPLETE);
        endQuery(id);
    }

    private void endByRate(String id, Querier querier, RateLimitError error) {
        Clip clip = querier.finish();
        clip.getMeta().merge(error.makeMeta());
        emitResult(id, clip, withSignal(id, Metadata.Signal.FAIL));
        emitSignal(id, Metadata.Signal.KILL);
        rateExceeded.increment();
        endQuery(id);
    }

    private void emitWindow(String id, Querier querier) {
        emitResult(id, querier.getResult(), queries.metadata(id));
        querier.reset();
    }

    private void emitResult(String id, Clip clip, Metadata metadata) {
        collector.emit(Streams.DEFAULT_STREAM, new Values(id, clip.asJSON(), metadata));
    }

    private void emitSignal(String id, Metadata.Signal signal) {
        collector.emit(Streams.FEEDBACK_STREAM, new Values(id, new Metadata(signal, null)));
    }

    private Metadata withSignal(String id, Metadata.Signal signal) {
        return withSignal(queries.metadata(id), signal);
    }

    /** A copy: the original may be on its way in a tuple already. */
    private static Metadata withSignal(Metadata metadata, Metadata.Signal signal) {
        if (metadata == null) {
            return new Metadata(signal, null);
        }
        Metadata copy = metadata.copy();
        copy.setSignal(signal);
        return copy;
    }

    @Override
    protected Querier.Mode mode() {
        return Querier.Mode.ALL;
    }

    @Override
    protected boolean hasQuery(String id) {
        return queries.has(id);
    }

    @Override
    protected void addQuery(String id, Metadata metadata, Querier querier) {
        queries.add(id, metadata, querier);
        created.increment();
    }

    @Override
    protected void removeQuery(String id) {
        queries.remove(id);
    }

    @Override
    protected void onDuplicate(String id) {
        duplicated.increment();
    }

    @Override
    protected void onImproper(PubSubMessage message, RuntimeException cause) {
        LOG.info("Cannot start query {}: {}", message.getId(), cause.toString());
        improper.increment();
        BulletError error = BulletError.makeError(cause.toString(), "Error initializing query");
        emitResult(message.getId(), Clip.of(Meta.of(List.of(error))),
                withSignal(message.getMetadata(), Metadata.Signal.FAIL));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declareStream(Streams.DEFAULT_STREAM, new Fields(Streams.ID, Streams.RESULT, Streams.METADATA));
        declarer.declareStream(Streams.FEEDBACK_STREAM, new Fields(Streams.ID, Streams.METADATA));
    }
}
