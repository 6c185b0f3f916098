package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubException;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.Subscriber;
import com.yahoo.bullet.storm.BuiltInMetric;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.metrics.BuiltInMetrics;
import io.github.bulletmetrics.topology.metrics.TotalCount;

import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Map;

/**
 * Reads queries and signals from the PubSub and hands them to the bolts, anchored by the query's id: a message is
 * committed when every bolt has acked it, and read again when one has failed it.
 */
public final class QuerySpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(QuerySpout.class);

    private final BulletStormConfig config;
    private transient SpoutOutputCollector collector;
    private transient Subscriber subscriber;

    /**
     * Keeps the settings for the worker.
     *
     * @param config the topology's settings, the PubSub's among them.
     */
    public QuerySpout(BulletStormConfig config) {
        this.config = config;
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        PubSubs.addStorm(config, conf, context);
        new BuiltInMetrics(config).register(BuiltInMetric.ACTIVE_REPLAYS, new TotalCount(), context);
    }

    @Override
    public void activate() {
        try {
            subscriber = PubSubs.from(config).getSubscriber();
        } catch (PubSubException e) {
            throw new IllegalStateException("Cannot read queries: check the bullet.pubsub.* settings", e);
        }
    }

    @Override
    public void deactivate() {
        try {
            subscriber.close();
        } catch (Exception e) {
            LOG.warn("Could not close the subscriber of queries", e);
        }
    }

    @Override
    public void nextTuple() {
        PubSubMessage message = receive();
        if (message == null) {
            Utils.sleep(1);
            return;
        }
        String id = message.getId();
        Metadata metadata = message.getMetadata();
        if (metadata == null) {
            LOG.warn("Left out message {}: it has no metadata", id);
            subscriber.commit(id);
        } else if (metadata.hasSignal(Metadata.Signal.REPLAY)) {
            LOG.warn("Left out a replay signal from {}: this topology does not replay", id);
            subscriber.commit(id);
        } else if (message.hasContent()) {
            collector.emit(Streams.DEFAULT_STREAM, new Values(id, message), id);
        } else {
            collector.emit(Streams.METADATA_STREAM, new Values(id, metadata), id);
        }
    }

    private PubSubMessage receive() {
        try {
            return subscriber.receive();
        } catch (PubSubException | RuntimeException e) {
            LOG.error("Could not read a query", e);
            return null;
        }
    }

    @Override
    public void ack(Object id) {
        subscriber.commit((String) id);
    }

    @Override
    public void fail(Object id) {
        subscriber.fail((String) id);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declareStream(Streams.DEFAULT_STREAM, new Fields(Streams.ID, Streams.QUERY));
        declarer.declareStream(Streams.METADATA_STREAM, new Fields(Streams.ID, Streams.METADATA));
    }
}
