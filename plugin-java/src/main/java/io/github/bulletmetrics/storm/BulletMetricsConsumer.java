package io.github.bulletmetrics.storm;

import com.yahoo.bullet.storm.BulletStormConfig;
import org.apache.storm.Config;

/**
 * The class to name in {@code bullet.topology.metrics.classes} for Bullet 0.5.0 and later. Its {@link #register} adds
 * {@link StormMetricsConsumer}, which runs in the topology. If Bullet is on the class path, this class may also be
 * named in {@code topology.metrics.consumer.register}.
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
