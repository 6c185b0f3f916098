package io.github.bulletmetrics.topology.metrics;

import com.yahoo.bullet.storm.BuiltInMetric;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.TopologyContext;

import java.util.Map;

/**
 * Registers Bullet's own metrics with Storm, each with its interval, where the settings ask for them. A metric that is
 * not registered can be used all the same; nobody reads it.
 */
public final class BuiltInMetrics {
    private final boolean enabled;
    private final Map<?, ?> intervals;

    /**
     * Reads the two settings of built-in metrics.
     *
     * @param config the topology's settings.
     */
    public BuiltInMetrics(BulletStormConfig config) {
        enabled = config.getAs(BulletStormConfig.TOPOLOGY_METRICS_BUILT_IN_ENABLE, Boolean.class);
        intervals = config.getAs(BulletStormConfig.TOPOLOGY_METRICS_BUILT_IN_EMIT_INTERVAL_MAPPING, Map.class);
    }

    /**
     * Registers a metric, if built-in metrics are enabled. To be called in prepare() or open() only, as Storm asks.
     *
     * @param name the metric.
     * @param metric what is read each interval, on the executor's thread.
     * @param context of the task.
     * @param <T> the metric's type.
     * @return the metric given.
     */
    // Bullet's metrics are Storm's first kind, and so reach a consumer under these very names.
    @SuppressWarnings("deprecation")
    public <T extends IMetric> T register(BuiltInMetric name, T metric, TopologyContext context) {
        if (enabled) {
            context.registerMetric(name.metricName(), metric, intervalSeconds(name));
        }
        return metric;
    }

    private int intervalSeconds(BuiltInMetric name) {
        Object interval = intervals.get(name.metricName());
        if (interval == null) {
            interval = intervals.get(BulletStormConfig.DEFAULT_INTERVAL_KEY);
        }
        if (interval == null) {
            throw new IllegalArgumentException("no interval for " + name.metricName() + ": add it, or \""
                + BulletStormConfig.DEFAULT_INTERVAL_KEY + "\", to "
                + BulletStormConfig.TOPOLOGY_METRICS_BUILT_IN_EMIT_INTERVAL_MAPPING);
        }
        return ((Number) interval).intValue();
    }
}
