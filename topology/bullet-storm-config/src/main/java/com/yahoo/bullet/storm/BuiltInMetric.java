package com.yahoo.bullet.storm;

import java.util.Arrays;
import java.util.Locale;

/**
 * The metrics that Bullet registers itself, and those of record sources, which are ours. Counts are totals since the
 * task's start, never reset.
 */
public enum BuiltInMetric {
    /** Queries that run, by join bolt task; a long. */
    ACTIVE_QUERIES,
    /** Queries created, by join bolt task; a long. */
    CREATED_QUERIES,
    /** Queries that could not be started, by join bolt task; a long. */
    IMPROPER_QUERIES,
    /** Queries killed for emitting too often, by join bolt task; a long. */
    RATE_EXCEEDED_QUERIES,
    /** Queries that came more than once, by join bolt task; a long. */
    DUPLICATED_QUERIES,
    /** Mean ms from a record's emission to its end in a filter bolt task; a double, none without records. */
    FILTER_LATENCY,
    /** Queries kept for replay, by replay bolt task; a long. */
    BATCHED_QUERIES,
    /** Replays that run: a long from the query spout, a map from the replay bolt. */
    ACTIVE_REPLAYS,
    /** Replays started, by replay bolt task; a map. */
    CREATED_REPLAYS,
    /** Records read from the source, by task; a long. Not Bullet's, as all that follow. */
    SOURCE_RECORDS,
    /** Bytes read from the source, by task; a long. */
    SOURCE_BYTES,
    /** Records that the source holds and that were not read yet, by task; a long, none while it is not known. */
    SOURCE_LAG,
    /** Records read and left out, by task; a map from the reason to a long. */
    SOURCE_LEFT_OUT,
    /** Records read that the same task had read before, by task; a long. */
    SOURCE_REPEATED;

    /** What every name starts with. */
    public static final String PREFIX = "bullet_";

    /**
     * The name that a metrics consumer sees and the interval mapping uses.
     *
     * @return for instance {@code bullet_active_queries}.
     */
    public String metricName() {
        return PREFIX + name().toLowerCase(Locale.ROOT);
    }

    /**
     * Whether the interval mapping may have this key.
     *
     * @param key a metric's name, or {@link BulletStormConfig#DEFAULT_INTERVAL_KEY}.
     * @return true when it is known.
     */
    public static boolean isIntervalKey(Object key) {
        return BulletStormConfig.DEFAULT_INTERVAL_KEY.equals(key)
            || Arrays.stream(values()).anyMatch(metric -> metric.metricName().equals(key));
    }
}
