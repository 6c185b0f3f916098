package io.github.bulletmetrics.topology.compat;

import org.apache.storm.Config;

import java.lang.reflect.Method;
import java.util.Map;

/** How the plugin comes to be in a topology's configuration. */
enum Registration {
    /** As Bullet up to 0.4.3 does it. */
    EARLY("io.github.bulletmetrics.storm.EarlyBulletMetricsConsumer", "com.yahoo.bullet.BulletConfig"),
    /** As Bullet from 0.5.0 on does it. */
    LATE("io.github.bulletmetrics.storm.BulletMetricsConsumer", "com.yahoo.bullet.storm.BulletStormConfig"),
    /**
     * By what {@code bullet-metrics storm snippet} prints, in Storm's own storm.yaml; no Bullet is on the class path.
     */
    SNIPPET(null, null);

    private final String consumer;
    private final String type;

    Registration(String consumer, String type) {
        this.consumer = consumer;
        this.type = type;
    }

    /** Registers by reflection, as Bullet does, or makes sure that there is no Bullet that could. */
    void register(Config storm, Map<String, Object> settings) throws ReflectiveOperationException {
        if (this == SNIPPET) {
            expectAbsent(EARLY.type);
            expectAbsent(LATE.type);
            return;
        }
        expectAbsent(this == EARLY ? LATE.type : EARLY.type);
        Class<?> configuration = Class.forName(type);
        Object bullet = configuration.getConstructor().newInstance();
        Method set = configuration.getMethod("set", String.class, Object.class);
        for (Map.Entry<String, Object> setting : settings.entrySet()) {
            set.invoke(bullet, setting.getKey(), setting.getValue());
        }
        Class.forName(consumer).getMethod("register", Config.class, configuration).invoke(null, storm, bullet);
    }

    private static void expectAbsent(String name) {
        try {
            Class.forName(name);
        } catch (ClassNotFoundException absent) {
            return;
        }
        throw new IllegalStateException(name + " is on the class path, where it should not be");
    }
}
