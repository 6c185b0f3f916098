package io.github.bulletmetrics.topology;

import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.Config;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.List;

/**
 * Lets each class of {@code bullet.topology.metrics.classes} register itself, by its
 * {@code public static void register(org.apache.storm.Config, com.yahoo.bullet.storm.BulletStormConfig)}. As in Bullet,
 * a class that cannot is logged, and the topology runs without it.
 */
final class MetricsRegistration {
    private static final Logger LOG = LoggerFactory.getLogger(MetricsRegistration.class);
    private static final String METHOD = "register";

    private MetricsRegistration() {
    }

    /** Registers all that can be, in their order, and returns the names of those. */
    static List<String> register(BulletStormConfig config, Config storm) {
        List<String> registered = new ArrayList<>();
        for (Object name : config.getAs(BulletStormConfig.TOPOLOGY_METRICS_CLASSES, List.class)) {
            if (register((String) name, config, storm)) {
                registered.add((String) name);
            }
        }
        return registered;
    }

    private static boolean register(String name, BulletStormConfig config, Config storm) {
        try {
            Class.forName(name).getMethod(METHOD, Config.class, BulletStormConfig.class).invoke(null, storm, config);
            LOG.info("Registered metrics consumer {}", name);
            return true;
        } catch (ClassNotFoundException | LinkageError e) {
            LOG.warn("Metrics consumer {} is left out: install its jar on the class path of the submitter, and in "
                + "extlib of every Supervisor: {}", name, e.toString());
        } catch (NoSuchMethodException | NullPointerException | IllegalAccessException e) {
            LOG.warn("Metrics consumer {} is left out: it needs a method public static void {}({}, {})", name, METHOD,
                Config.class.getName(), BulletStormConfig.class.getName());
        } catch (InvocationTargetException e) {
            LOG.warn("Metrics consumer {} is left out: its {} method failed", name, METHOD, e.getCause());
        }
        return false;
    }
}
