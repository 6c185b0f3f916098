package io.github.bulletmetrics.storm;

import com.yahoo.bullet.BulletConfig;
import org.apache.storm.Config;

/**
 * The class to name in {@code bullet.topology.metrics.classes} for Bullet up to 0.4.3. {@link BulletMetricsConsumer} is
 * the same for later versions. They are two classes because Bullet looks up {@code register} by reflection, which loads
 * the parameter types of all overloads. No version of Bullet has both types, so that one class with both overloads
 * would cause a NoClassDefFoundError, which Bullet does not catch.
 */
public class EarlyBulletMetricsConsumer extends StormMetricsConsumer {
    /** Storm's. */
    public EarlyBulletMetricsConsumer() {
    }

    /**
     * Registers the consumer and what it needs with a topology that is about to be submitted. Called by Bullet, by
     * reflection, which logs a failure at INFO and goes on: see {@link Registration}.
     *
     * @param stormConfig the topology's configuration; changed.
     * @param bulletConfig Bullet's, with the {@code bullet.topology.metrics.collector.*} settings.
     * @throws IllegalArgumentException when a setting is wrong; the message names it and what is right.
     */
    public static void register(Config stormConfig, BulletConfig bulletConfig) {
        // No method reference: it would name the class that declares get, which stands for BulletConfig at run time
        // only.
        Registration.register(stormConfig, name -> bulletConfig.get(name));
    }
}
