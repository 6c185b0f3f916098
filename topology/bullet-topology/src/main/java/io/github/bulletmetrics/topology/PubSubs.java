package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.PubSub;
import com.yahoo.bullet.pubsub.PubSubException;
import com.yahoo.bullet.pubsub.rest.RESTPubSub;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.task.TopologyContext;

import java.util.Map;

/** Makes the PubSub of a task. */
final class PubSubs {
    private PubSubs() {
    }

    /**
     * Puts Storm's configuration and the task's context into the settings, where a PubSub may look for them, as Bullet
     * does; but not for RESTPubSub, which only logs its settings, and the context cannot be written as JSON.
     */
    static void addStorm(BulletStormConfig config, Map<String, Object> conf, TopologyContext context) {
        if (!RESTPubSub.class.getName().equals(config.get(BulletStormConfig.PUBSUB_CLASS_NAME))) {
            config.set(BulletStormConfig.STORM_CONFIG, conf);
            config.set(BulletStormConfig.STORM_CONTEXT, context);
        }
    }

    static PubSub from(BulletStormConfig config) {
        try {
            return PubSub.from(config);
        } catch (PubSubException e) {
            throw new IllegalStateException("Cannot make the PubSub: check the bullet.pubsub.* settings", e);
        }
    }
}
