package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.PubSubException;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.Publisher;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Map;

/** A bolt that publishes each tuple to the PubSub, once: what cannot be published is logged and lost. */
abstract class PublisherBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(PublisherBolt.class);

    /** The topology's settings. */
    protected final BulletStormConfig config;
    private transient OutputCollector collector;
    private transient Publisher publisher;

    PublisherBolt(BulletStormConfig config) {
        this.config = config;
    }

    @Override
    public final void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        PubSubs.addStorm(config, conf, context);
        try {
            publisher = publisher();
        } catch (PubSubException e) {
            throw new IllegalStateException("Cannot publish: check the bullet.pubsub.* settings", e);
        }
    }

    @Override
    public final void execute(Tuple tuple) {
        try {
            publisher.send(message(tuple));
        } catch (PubSubException | RuntimeException e) {
            LOG.error("Could not publish for query {}", tuple.getString(0), e);
        }
        collector.ack(tuple);
    }

    @Override
    public final void cleanup() {
        try {
            publisher.close();
        } catch (Exception e) {
            LOG.warn("Could not close the publisher", e);
        }
    }

    protected abstract Publisher publisher() throws PubSubException;

    protected abstract PubSubMessage message(Tuple tuple);

    @Override
    public final void declareOutputFields(OutputFieldsDeclarer declarer) {
        // Nothing comes after a publisher.
    }
}
