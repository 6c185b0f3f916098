package io.github.bulletmetrics.storm.queue;

/**
 * The bounded queue between the thread that Storm calls on and the sender: a ring of columns, allocated once.
 *
 * <p>A sample stays in its slot until it is released, that is until it is acknowledged or given up, so that what waits and
 * what is under way share one budget of {@link #BYTES_PER_SAMPLE} bytes a sample. A position counts samples from the
 * start of the queue and is never reused. A distribution is one sample too; its encoded form has room of its own, {@link #DISTRIBUTION_BYTES_PER_SAMPLE}
 * for each sample of the queue's capacity at most.
 *
 * <p>One thread offers ({@link #offer}, {@link #mark}, {@link #rewind}, {@link #publish}), one other takes (the rest); neither
 * waits for the other.
 */
public final class SampleQueue {
    /** Memory for one sample: a reference, a time and a value. */
    public static final int BYTES_PER_SAMPLE = 4 + 8 + 8;

    /** Memory that distributions may take, for each sample that the queue may hold; one takes about 170 bytes. */
    static final int DISTRIBUTION_BYTES_PER_SAMPLE = 8;
    /** What distributions may take at least, however small the queue. */
    static final int MIN_DISTRIBUTION_BYTES = 1 << 16;
    private static final int SAMPLES_PER_DISTRIBUTION = 16;
    private static final int MIN_DISTRIBUTIONS = 64;

    private final Series[] series;
    private final long[] timesMs;
    /** Of a distribution its position among the distributions. */
    private final double[] values;
    private final Distributions distributions;

    // The offering thread's own.
    private long next;
    private long lastReleased;
    // Written by the offering thread, read by the taking one, and the other way round.
    private volatile long published;
    private volatile long released;

    /**
     * @param capacity how many samples it holds at most, at least 1.
     */
    public SampleQueue(int capacity) {
        if (capacity < 1) {
            throw new IllegalArgumentException("a queue of " + capacity + " samples holds nothing");
        }
        series = new Series[capacity];
        timesMs = new long[capacity];
        values = new double[capacity];
        distributions = new Distributions(Math.max(MIN_DISTRIBUTIONS, capacity / SAMPLES_PER_DISTRIBUTION),
                Math.max(MIN_DISTRIBUTION_BYTES, (long) capacity * DISTRIBUTION_BYTES_PER_SAMPLE));
    }

    /** How many samples it holds at most. */
    public int capacity() {
        return values.length;
    }

    /**
     * Adds a sample, which the taking thread sees after {@link #publish}.
     *
     * @param timeMs event time, ms since the Unix epoch.
     * @return false when the queue is full; the sample is then not taken.
     */
    public boolean offer(Series of, long timeMs, double value) {
        if (!hasRoom()) {
            return false;
        }
        put(of, timeMs, value);
        return true;
    }

    /**
     * Adds a distribution in the same way.
     *
     * @param of a series of {@link Series#isDistribution distributions}.
     * @param encoded its HistogramSample, with series and time; not copied.
     * @return false when the queue is full, or the room that distributions have.
     */
    public boolean offer(Series of, long timeMs, byte[] encoded) {
        long at = distributions.next();
        if (!hasRoom() || !distributions.offer(encoded)) {
            return false;
        }
        put(of, timeMs, at);
        return true;
    }

    private boolean hasRoom() {
        if (next - lastReleased == values.length) {
            lastReleased = released;
        }
        return next - lastReleased < values.length;
    }

    private void put(Series of, long timeMs, double value) {
        int slot = slot(next);
        series[slot] = of;
        timesMs[slot] = timeMs;
        values[slot] = value;
        next++;
    }

    /** The position that the next offered sample gets. */
    public long mark() {
        return next;
    }

    /** Takes back what was offered since {@link #mark}, which must not have been published. */
    public void rewind(long mark) {
        if (mark < published || mark > next) {
            throw new IllegalArgumentException("cannot go back from " + next + " to " + mark + ": published up to " + published);
        }
        while (next > mark) {
            next--;
            if (series[slot(next)].isDistribution()) {
                distributions.takeBack();
            }
        }
    }

    /** Shows the taking thread what was offered. */
    public void publish() {
        published = next;
    }

    /** The end of what can be taken: every position from {@link #released} up to it holds a sample. */
    public long published() {
        return published;
    }

    /** The first position that is not released. */
    public long released() {
        return released;
    }

    /** The series of the sample at a position. */
    public Series series(long position) {
        return series[slot(position)];
    }

    /** The event time of the sample at a position, ms. */
    public long timeMs(long position) {
        return timesMs[slot(position)];
    }

    /** The value of the sample at a position; of no meaning where that is a distribution. */
    public double value(long position) {
        return values[slot(position)];
    }

    /** The encoded HistogramSample at a position; null where that is a number. */
    public byte[] distribution(long position) {
        return series(position).isDistribution() ? distributions.get((long) values[slot(position)]) : null;
    }

    /** Gives the slots before a position back to the offering thread. */
    public void release(long upTo) {
        if (upTo > published) {
            throw new IllegalArgumentException("cannot release up to " + upTo + ": published up to " + published);
        }
        for (long position = released; position < upTo; position++) {
            if (series[slot(position)].isDistribution()) {
                distributions.release();
            }
            series[slot(position)] = null;
        }
        if (upTo > released) {
            released = upTo;
        }
    }

    private int slot(long position) {
        return (int) (position % values.length);
    }
}
