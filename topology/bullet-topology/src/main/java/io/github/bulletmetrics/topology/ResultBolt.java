package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubException;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.Publisher;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.tuple.Tuple;

/** Publishes results and windows to whoever asked. */
public final class ResultBolt extends PublisherBolt {
    private static final long serialVersionUID = 1L;

    /**
     * Keeps the settings for the worker.
     *
     * @param config the topology's settings, the PubSub's among them.
     */
    public ResultBolt(BulletStormConfig config) {
        super(config);
    }

    @Override
    protected Publisher publisher() throws PubSubException {
        return PubSubs.from(config).getPublisher();
    }

    @Override
    protected PubSubMessage message(Tuple tuple) {
        return new PubSubMessage(tuple.getString(0), tuple.getString(1), (Metadata) tuple.getValue(2));
    }
}
