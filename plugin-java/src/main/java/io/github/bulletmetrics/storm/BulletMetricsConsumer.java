package io.github.bulletmetrics.storm;

import com.yahoo.bullet.storm.BulletStormConfig;
import org.apache.storm.Config;

/**
 * The class for {@code bullet.topology.metrics.classes} in Bullet 0.5.0 and later. What runs in the topology is
 * {@link StormMetricsConsumer}, which {@link #register} registers; this class may also be named for
 * {@code topology.metrics.consumer.register} itself, with Bullet on the class path.
 */
public class BulletMetricsConsumer extends StormMetricsConsumer {
    /** Storm's. */
    public BulletMetricsConsumer() {
    }

    /**
     * Registers the consumer and what it needs with a topology that is about to be submitted. Called by Bullet, by
     * reflection, which logs a failure at INFO and goes on: see {@link Registration}.
     *
     * @param stormConfig the topology's configuration; changed.
     * @param bulletConfig Bullet's, with the {@code bullet.topology.metrics.collector.*} settings.
     * @throws IllegalArgumentException when a setting is wrong; the message names it and what is right.
     */
    public static void register(Config stormConfig, BulletStormConfig bulletConfig) {
        // No method reference: it would name the class that declares get, which is another one from one Bullet to the
        // next.
        Registration.register(stormConfig, name -> bulletConfig.get(name));
    }
}
