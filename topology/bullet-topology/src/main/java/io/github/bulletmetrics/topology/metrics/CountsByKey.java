package io.github.bulletmetrics.topology.metrics;

import org.apache.storm.metric.api.IMetric;

import java.util.HashMap;
import java.util.Map;

/** Counts by a key; reading does not reset them. Used on the executor's thread alone, and read as a copy by others. */
public final class CountsByKey implements IMetric {
    private final Map<String, Long> counts = new HashMap<>();

    /**
     * Adds one.
     *
     * @param key what is counted.
     */
    public void increment(String key) {
        counts.merge(key, 1L, Long::sum);
    }

    /**
     * Sets a count.
     *
     * @param key what is counted.
     * @param count its count.
     */
    public void set(String key, long count) {
        counts.put(key, count);
    }

    /** Forgets all keys. */
    public void clear() {
        counts.clear();
    }

    @Override
    public Object getValueAndReset() {
        return new HashMap<>(counts);
    }
}
