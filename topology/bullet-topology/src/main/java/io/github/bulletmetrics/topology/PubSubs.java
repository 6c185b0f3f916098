package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.PubSub;
import com.yahoo.bullet.pubsub.PubSubException;
import com.yahoo.bullet.pubsub.rest.RESTPubSub;
import com.yahoo.bullet.storm.BulletStormConfig;
import com.yahoo.bullet.storm.drpc.DRPCPubSub;
import com.yahoo.bullet.storm.drpc.DRPCSettings;

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

    /**
     * Finds the PubSub's class, so that a wrong one, or one that cannot go with the settings, is reported when the
     * topology is submitted and not by workers that die.
     *
     * @throws IllegalArgumentException states what to set.
     */
    static void check(BulletStormConfig config) {
        String name = String.valueOf(config.get(BulletStormConfig.PUBSUB_CLASS_NAME));
        try {
            Class.forName(name).asSubclass(PubSub.class);
        } catch (ClassNotFoundException | LinkageError | ClassCastException e) {
            throw new IllegalArgumentException(BulletStormConfig.PUBSUB_CLASS_NAME
                    + " must name a PubSub in this jar or in "
                + "Storm's extlib, but is " + name + ". This jar has " + RESTPubSub.class.getName()
                + ", which the query gateway serves, and "
                + DRPCPubSub.class.getName(), e);
        }
        if (name.equals(DRPCPubSub.class.getName())) {
            DRPCSettings.from(config);
        }
    }

    static PubSub from(BulletStormConfig config) {
        try {
            return PubSub.from(config);
        } catch (PubSubException e) {
            throw new IllegalStateException("Cannot create the PubSub: check the bullet.pubsub.* settings", e);
        }
    }
}
