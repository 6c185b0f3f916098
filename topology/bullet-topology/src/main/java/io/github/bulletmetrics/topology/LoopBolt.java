package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSub;
import com.yahoo.bullet.pubsub.PubSubException;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.Publisher;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.tuple.Tuple;

import java.util.Map;

/** Publishes signals as a submitter of queries would, so that they come back through the query spout to every bolt. */
public final class LoopBolt extends PublisherBolt {
    private static final long serialVersionUID = 1L;

    /**
     * Keeps the settings for the worker.
     *
     * @param config the topology's settings, the PubSub's among them.
     */
    public LoopBolt(BulletStormConfig config) {
        super(config);
    }

    @Override
    protected Publisher publisher() throws PubSubException {
        PubSub pubSub = PubSubs.from(config);
        BulletStormConfig submitter = new BulletStormConfig(config);
        Map<?, ?> overrides = config.getAs(BulletStormConfig.LOOP_BOLT_PUBSUB_OVERRIDES, Map.class);
        overrides.forEach((key, value) -> submitter.set((String) key, value));
        pubSub.switchContext(PubSub.Context.QUERY_SUBMISSION, submitter);
        return pubSub.getPublisher();
    }

    @Override
    protected PubSubMessage message(Tuple tuple) {
        return new PubSubMessage(tuple.getString(0), (byte[]) null, (Metadata) tuple.getValue(1));
    }
}
