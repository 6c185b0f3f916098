package io.github.bulletmetrics.storm;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.Config;

/**
 * The total time that a bolt's task has spent in execute(), estimated from the tuples that Storm times.
 *
 * <p>Storm times one in 20 tuples (depending on {@code topology.stats.sample.rate}), in whole milliseconds, and passes
 * only these times to a hook. As in Storm's own counts, each of them represents 20 tuples. Therefore this total divided
 * by Storm's count of executed tuples is the mean time of a tuple. Not thread-safe.
 */
final class ExecuteTimes {
    static final String METRIC = "bullet-metrics.execute";
    private static final double DEFAULT_SAMPLE_RATE = 0.05;

    private final int tuplesPerSample;
    private long sampledMs;
    private long samples;

    ExecuteTimes(Map<?, ?> conf) {
        Object rate = conf.get(Config.TOPOLOGY_STATS_SAMPLE_RATE);
        tuplesPerSample = (int) (1 / (rate instanceof Number ? ((Number) rate).doubleValue() : DEFAULT_SAMPLE_RATE));
    }

    /**
     * Adds an executed tuple.
     *
     * @param tookMs null (Storm 1.x) or negative (2.x) for a tuple that Storm did not time.
     */
    void executed(Long tookMs) {
        if (tookMs != null && tookMs >= 0) {
            sampledMs += tookMs;
            samples++;
        }
    }

    /** The totals since the task's start, in a map that Kryo knows on every Storm. */
    Map<String, Long> totals() {
        Map<String, Long> totals = new HashMap<>();
        totals.put("ms", sampledMs * tuplesPerSample);
        totals.put("samples", samples);
        return totals;
    }
}
