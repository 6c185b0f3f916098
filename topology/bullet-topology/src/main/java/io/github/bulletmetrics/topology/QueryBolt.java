package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.PubSubMessageSerDe;
import com.yahoo.bullet.querying.Querier;
import com.yahoo.bullet.querying.RunningQuery;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.metrics.BuiltInMetrics;
import io.github.bulletmetrics.topology.replay.BatchFormat;
import io.github.bulletmetrics.topology.replay.MissedQueries;

import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Map;

/**
 * What the filter and the join bolt share: taking in queries and signals, and ticks, and asking for the queries that
 * were there before it. All on the executor's thread.
 */
abstract class QueryBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(QueryBolt.class);

    /** The topology's settings. */
    protected final BulletStormConfig config;
    /** Storm's collector of this task. */
    protected transient OutputCollector collector;
    private transient PubSubMessageSerDe serDe;
    private transient String name;
    private transient boolean replayEnabled;
    private transient BatchFormat batchFormat;
    private transient MissedQueries missed;

    QueryBolt(BulletStormConfig config) {
        this.config = config;
    }

    @Override
    public final void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        serDe = PubSubMessageSerDe.from(config);
        name = Streams.taskName(context.getThisComponentId(), context.getThisTaskId());
        replayEnabled = config.getAs(BulletStormConfig.REPLAY_ENABLE, Boolean.class);
        batchFormat = BatchFormat.of(config.getAs(BulletStormConfig.REPLAY_BATCH_COMPRESS_ENABLE, Boolean.class));
        missed = new MissedQueries(config.getAs(BulletStormConfig.REPLAY_REQUEST_INTERVAL, Long.class));
        prepare(new BuiltInMetrics(config), context);
        if (replayEnabled) {
            missed.begin(System.currentTimeMillis());
            askIfDue();
        }
    }

    @Override
    public final void execute(Tuple tuple) {
        if (take(tuple)) {
            collector.ack(tuple);
        } else {
            LOG.error("Skipped a tuple of unknown origin: {} {}", tuple.getSourceComponent(),
                    tuple.getSourceStreamId());
        }
    }

    private boolean take(Tuple tuple) {
        switch (tuple.getSourceComponent()) {
            case Streams.TICK_COMPONENT:
                onTick();
                askIfDue();
                return true;
            case Streams.REPLAY_COMPONENT:
                onBatch(tuple.getLong(1), tuple.getValue(3));
                return true;
            case Streams.QUERY_COMPONENT:
                if (Streams.METADATA_STREAM.equals(tuple.getSourceStreamId())) {
                    onSignal(tuple.getString(0), (Metadata) tuple.getValue(1));
                } else {
                    onQuery((PubSubMessage) tuple.getValue(1));
                }
                return true;
            default:
                return onOther(tuple);
        }
    }

    private void onSignal(String id, Metadata metadata) {
        if (metadata == null) {
            return;
        }
        if (Streams.endsQuery(metadata.getSignal())) {
            LOG.debug("Ending query {}: {}", id, metadata.getSignal());
            endQuery(id);
        } else if (metadata.hasSignal(Metadata.Signal.REPLAY)) {
            onReplaySignal();
        }
    }

    private void onReplaySignal() {
        if (!replayEnabled) {
            LOG.warn("Skipped a replay signal: {} is false", BulletStormConfig.REPLAY_ENABLE);
            return;
        }
        missed.begin(System.currentTimeMillis());
        askIfDue();
    }

    private void askIfDue() {
        if (missed.isDue(System.currentTimeMillis())) {
            LOG.info("{} requests its queries as of {}", name, missed.since());
            collector.emit(Streams.FEEDBACK_STREAM,
                    new Values(name, new Metadata(Metadata.Signal.REPLAY, missed.since())));
        }
    }

    private void onBatch(long since, Object batch) {
        boolean waited = missed.isWaiting();
        missed.take(since, batchFormat.read(batch), System.currentTimeMillis()).forEach(this::onQuery);
        if (waited && !missed.isWaiting()) {
            LOG.info("{} has its queries: {}", name, missed);
        }
    }

    /** Removes a query that has ended, for good: no replay brings it back. */
    protected final void endQuery(String id) {
        missed.ended(id);
        removeQuery(id);
    }

    private void onQuery(PubSubMessage message) {
        if (hasQuery(message.getId())) {
            onDuplicate(message.getId());
            return;
        }
        try {
            PubSubMessage opened = serDe.fromMessage(message);
            RunningQuery query = new RunningQuery(opened.getId(), opened.getContentAsQuery(), opened.getMetadata());
            addQuery(opened.getId(), opened.getMetadata(), new Querier(mode(), query, config));
        } catch (RuntimeException e) {
            onImproper(message, e);
        }
    }

    /** Registers metrics and makes what the task keeps. */
    protected abstract void prepare(BuiltInMetrics metrics, TopologyContext context);

    protected abstract Querier.Mode mode();

    protected abstract boolean hasQuery(String id);

    protected abstract void addQuery(String id, Metadata metadata, Querier querier);

    /** Removes a query; none of that id is no error: signals come more than once. */
    protected abstract void removeQuery(String id);

    protected abstract void onDuplicate(String id);

    protected abstract void onImproper(PubSubMessage message, RuntimeException cause);

    protected abstract void onTick();

    /** Takes a tuple that is neither a tick, a query nor a signal; false if it is of no known kind. */
    protected abstract boolean onOther(Tuple tuple);
}
