package io.github.bulletmetrics.storm.latency;

/**
 * A distribution of latencies in whole milliseconds since its task started. It allocates all its memory, 4 KiB, when it
 * is created.
 *
 * <p>Latencies below {@link #ZERO_THRESHOLD_SECONDS} are in the zero bucket. Negative latencies, which occur if clocks
 * differ, are counted separately. They are not in any bucket, in the count or in the sum. Not thread-safe.
 */
public final class LatencyHistogram {
    /** Values below this count as zero, s: half of the clock's resolution. */
    static final double ZERO_THRESHOLD_SECONDS = 0.0005;
    static final double MS_PER_SECOND = 1_000;
    /** The bucket of the least latency above 0, 1 ms. */
    static final int FIRST_BUCKET = Buckets.index(1 / MS_PER_SECOND);

    private final long[] counts = new long[Buckets.index(Long.MAX_VALUE / MS_PER_SECOND) - FIRST_BUCKET + 1];
    private long zeros;
    private long count;
    private long negatives;
    /** A double: latencies from a record's timestamp of 0 would overflow a long within hours. */
    private double sumMs;

    /** A distribution of nothing yet. */
    public LatencyHistogram() {
    }

    /** Counts a latency, ms. Allocates nothing. */
    public void record(long ms) {
        if (ms > 0) {
            counts[Buckets.index(ms / MS_PER_SECOND) - FIRST_BUCKET]++;
        } else if (ms == 0) {
            zeros++;
        } else {
            negatives++;
            return;
        }
        count++;
        sumMs += ms;
    }

    /** How many there were, the negative ones left out. */
    public long count() {
        return count;
    }

    /** How many were in the zero bucket. */
    long zeros() {
        return zeros;
    }

    /** How many were negative. */
    public long negatives() {
        return negatives;
    }

    /** Their sum, the negative ones left out, s. */
    public double sumSeconds() {
        return sumMs / MS_PER_SECOND;
    }

    /** One behind the last bucket that may hold anything. */
    int endBucket() {
        return FIRST_BUCKET + counts.length;
    }

    /** How many are in a bucket from {@link #FIRST_BUCKET} to before {@link #endBucket}. */
    long inBucket(int index) {
        return counts[index - FIRST_BUCKET];
    }
}
