package io.github.bulletmetrics.topology.source;

import com.yahoo.bullet.storm.BuiltInMetric;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.metrics.BuiltInMetrics;

import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.TopologyContext;

import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * What a source, or a bolt that makes its records, has counted since its task's start, and its metrics. Every message
 * that was read is emitted or left out under one reason. Used on the executor's thread alone, where Storm reads metrics
 * too.
 */
public final class SourceFigures {
    private final BuiltInMetrics metrics;
    private final boolean enabled;
    private final TopologyContext context;
    private final Map<LeftOut, Long> leftOut = new EnumMap<>(LeftOut.class);
    private long records;

    /**
     * Registers nothing yet.
     *
     * @param config the topology's settings.
     * @param context the task's.
     */
    public SourceFigures(BulletStormConfig config, TopologyContext context) {
        metrics = new BuiltInMetrics(config);
        enabled = SourceSettings.from(config).metrics();
        this.context = context;
    }

    /** Counts records, or messages, that were read. */
    public void addRecords(int count) {
        records += count;
    }

    /** Counts one of them that did not go on. */
    public void leaveOut(LeftOut why) {
        leftOut.merge(why, 1L, Long::sum);
    }

    /** What was read since the task's start. */
    public long records() {
        return records;
    }

    /**
     * Registers {@code bullet_source_left_out}.
     *
     * @param reasons what this task itself can leave out; each is in the map from the start.
     * @return this.
     */
    public SourceFigures leavingOut(Collection<LeftOut> reasons) {
        reasons.forEach(reason -> leftOut.putIfAbsent(reason, 0L));
        return with(BuiltInMetric.SOURCE_LEFT_OUT, this::leftOutByReason);
    }

    /** A map of its own for each reading, since it travels by reference. */
    private Map<String, Long> leftOutByReason() {
        Map<String, Long> map = new HashMap<>();
        leftOut.forEach((why, count) -> map.put(why.reason(), count));
        return map;
    }

    /**
     * Registers a metric.
     *
     * @param name the metric.
     * @param value gives it, on the executor's thread; null means that there is none now.
     * @return this.
     */
    public SourceFigures with(BuiltInMetric name, Supplier<?> value) {
        if (enabled) {
            IMetric metric = value::get;
            metrics.register(name, metric, context);
        }
        return this;
    }
}
