package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubException;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.Subscriber;
import com.yahoo.bullet.storm.BuiltInMetric;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.metrics.BuiltInMetrics;
import io.github.bulletmetrics.topology.replay.SpoutReplays;

import org.apache.storm.metric.api.IMetric;
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
 * committed when every bolt has acked it, and read again when one has failed it. Moves replays on: each tuple to the
 * replay bolt is anchored by the asking task's name, and its ack means that the next batch can be sent.
 */
public final class QuerySpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(QuerySpout.class);

    private final BulletStormConfig config;
    private transient SpoutOutputCollector collector;
    private transient Subscriber subscriber;
    private transient SpoutReplays replays;
    private transient boolean replayEnabled;

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
        replayEnabled = config.getAs(BulletStormConfig.REPLAY_ENABLE, Boolean.class);
        replays = new SpoutReplays();
        IMetric active = () -> replays.active();
        new BuiltInMetrics(config).register(BuiltInMetric.ACTIVE_REPLAYS, active, context);
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
        replays.clear();
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
            LOG.warn("Skipped message {}: it has no metadata", id);
            subscriber.commit(id);
        } else if (metadata.hasSignal(Metadata.Signal.REPLAY)) {
            subscriber.commit(id);
            onReplaySignal(id, metadata);
        } else if (message.hasContent()) {
            collector.emit(Streams.DEFAULT_STREAM, new Values(id, message), id);
        } else {
            collector.emit(Streams.METADATA_STREAM, new Values(id, metadata), id);
        }
    }

    /** With a time it is one task's request. Without, it is for all bolts, and not anchored: they may take long. */
    private void onReplaySignal(String id, Metadata metadata) {
        if (!metadata.hasContent()) {
            collector.emit(Streams.METADATA_STREAM, new Values(id, metadata));
        } else if (!replayEnabled || !(metadata.getContent() instanceof Number)) {
            LOG.warn("Skipped a replay request from {}: {}", id, replayEnabled ? "it has no time"
                    : "replay is disabled");
        } else if (replays.request(id, ((Number) metadata.getContent()).longValue())) {
            moveOn(id, false);
        }
    }

    private void moveOn(String id, boolean acked) {
        collector.emit(Streams.REPLAY_STREAM, new Values(id, replays.since(id), acked), id);
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
        if (replays.has(id)) {
            moveOn((String) id, true);
        } else {
            subscriber.commit((String) id);
        }
    }

    @Override
    public void fail(Object id) {
        if (replays.has(id)) {
            replays.end(id);
        } else {
            subscriber.fail((String) id);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declareStream(Streams.DEFAULT_STREAM, new Fields(Streams.ID, Streams.QUERY));
        declarer.declareStream(Streams.METADATA_STREAM, new Fields(Streams.ID, Streams.METADATA));
        declarer.declareStream(Streams.REPLAY_STREAM, new Fields(Streams.ID, Streams.TIMESTAMP, Streams.ACK));
    }
}
