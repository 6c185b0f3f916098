package io.github.bulletmetrics.storm;

import java.util.HashMap;
import java.util.Map;
import org.apache.storm.Config;

/**
 * How long a bolt's task has spent in execute(), estimated from the tuples that Storm times.
 *
 * <p>Storm times one in 20 tuples (more or fewer with {@code topology.stats.sample.rate}), in whole milliseconds, and
 * passes a hook the time of such a tuple only. As in Storm's own counts, each of them stands for all 20. So this total
 * divided by Storm's count of executed tuples is the mean time of a tuple. One thread at a time.
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
