package io.github.bulletmetrics.storm.queue;

/**
 * The bounded queue between the thread that Storm calls on and the sender: a ring of columns, allocated once.
 *
 * <p>A sample stays in its slot until it is released, that is until it is acknowledged or given up, so that what waits and
 * what is under way share one budget of {@link #BYTES_PER_SAMPLE} bytes a sample. A position counts samples from the
 * start of the queue and is never reused.
 *
 * <p>One thread offers ({@link #offer}, {@link #mark}, {@link #rewind}, {@link #publish}), one other takes (the rest); neither
 * waits for the other.
 */
public final class SampleQueue {
    /** Memory for one sample: a reference, a time and a value. */
    public static final int BYTES_PER_SAMPLE = 4 + 8 + 8;

    private final Series[] series;
    private final long[] timesMs;
    private final double[] values;

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
        if (next - lastReleased == values.length) {
            lastReleased = released;
            if (next - lastReleased == values.length) {
                return false;
            }
        }
        int slot = slot(next);
        series[slot] = of;
        timesMs[slot] = timeMs;
        values[slot] = value;
        next++;
        return true;
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
        next = mark;
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

    /** The value of the sample at a position. */
    public double value(long position) {
        return values[slot(position)];
    }

    /** Gives the slots before a position back to the offering thread. */
    public void release(long upTo) {
        if (upTo > published) {
            throw new IllegalArgumentException("cannot release up to " + upTo + ": published up to " + published);
        }
        for (long position = released; position < upTo; position++) {
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
