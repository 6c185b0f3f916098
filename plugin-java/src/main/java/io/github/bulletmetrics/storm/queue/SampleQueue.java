package io.github.bulletmetrics.storm.queue;

/**
 * The bounded queue between the thread on which Storm calls and the sender. It consists of a ring of values and a ring
 * of the {@link Block blocks} to which they belong, both allocated once.
 *
 * <p>A sample stays in its slot until it is released, which happens when it is acknowledged or abandoned. Waiting
 * samples and samples in flight therefore share one budget of {@link #BYTES_PER_SAMPLE} bytes per sample. A position
 * counts samples from the start of the queue and is never reused; the samples of a block have consecutive positions.
 * There is space for one block per {@link #SAMPLES_PER_BLOCK} samples, and for at least {@link #MIN_BLOCKS}. If blocks
 * are small, the queue may run out of blocks before it runs out of samples.
 *
 * <p>A distribution is a block of one sample. Its encoded form is stored separately, with at most {@link
 * #DISTRIBUTION_BYTES_PER_SAMPLE} bytes per sample of the queue's capacity.
 *
 * <p>One thread offers samples ({@link #free}, {@link #offer}, {@link #publish}), and another thread takes them (all
 * other methods). Neither waits for the other.
 */
public final class SampleQueue {
    /**
     * Memory for one sample: a value, a quarter of a block's entry (a reference, two longs and an int), a quarter of a
     * word.
     */
    public static final int BYTES_PER_SAMPLE = 8 + 6 + 1;

    /**
     * How large blocks must be on average for the queue to be full of samples first. In the captures of Storm 2.2 and
     * 2.8 a report has nine, and a pack adds a hundred.
     */
    static final int SAMPLES_PER_BLOCK = 4;
    /** Blocks that it may hold at least, however small the queue. */
    static final int MIN_BLOCKS = 1_024;
    /**
     * For each word of what blocks say of their rows and absent cells. A pack of ten samples a second takes one a row
     * and three for each 100 cells.
     */
    private static final int SAMPLES_PER_WORD = 4;
    private static final int MIN_WORDS = 4_096;

    /** Memory that distributions may take, for each sample that the queue may hold; one takes about 170 bytes. */
    static final int DISTRIBUTION_BYTES_PER_SAMPLE = 8;
    /** The minimum memory for distributions, however small the queue. */
    static final int MIN_DISTRIBUTION_BYTES = 1 << 16;
    private static final int SAMPLES_PER_DISTRIBUTION = 16;
    private static final int MIN_DISTRIBUTIONS = 64;

    /** A number, or the position of a distribution among the distributions. */
    private final double[] values;
    private final BlockRing blocks;
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
            throw new IllegalArgumentException("the queue's capacity must be positive: " + capacity);
        }
        values = new double[capacity];
        blocks = new BlockRing(Math.max(MIN_BLOCKS, capacity / SAMPLES_PER_BLOCK),
                Math.max(MIN_WORDS, capacity / SAMPLES_PER_WORD));
        distributions = new Distributions(Math.max(MIN_DISTRIBUTIONS, capacity / SAMPLES_PER_DISTRIBUTION),
                Math.max(MIN_DISTRIBUTION_BYTES, (long) capacity * DISTRIBUTION_BYTES_PER_SAMPLE));
    }

    /** How many samples it holds at most. */
    public int capacity() {
        return values.length;
    }

    /** How many of the wanted samples fit into the queue now. */
    public int free(int wanted) {
        if (next - lastReleased > values.length - wanted) {
            lastReleased = released;
        }
        return (int) Math.min(wanted, values.length - (next - lastReleased));
    }

    /**
     * Adds a block of numbers, which the taking thread sees after {@link #publish}.
     *
     * @param block with a sample at least; copied.
     * @return false when there is no room; nothing is then taken.
     */
    public boolean offer(Block block) {
        if (free(block.samples) < block.samples || !blocks.offer(block)) {
            return false;
        }
        int slot = slot(next);
        int first = Math.min(block.samples, values.length - slot);
        System.arraycopy(block.values, 0, values, slot, first);
        System.arraycopy(block.values, first, values, 0, block.samples - first);
        next += block.samples;
        return true;
    }

    /**
     * Adds a distribution in the same way.
     *
     * @param of a layout of {@link Layout#isOfDistributions one series of distributions}.
     * @param encoded its HistogramSample, with series and time; not copied.
     * @return false when the queue is full, or the room that distributions have.
     */
    public boolean offer(Layout of, long timeMs, byte[] encoded) {
        long at = distributions.next();
        if (free(1) < 1 || !distributions.hasCapacity(encoded) || !blocks.offer(of, timeMs)) {
            return false;
        }
        distributions.offer(encoded);
        values[slot(next)] = at;
        next++;
        return true;
    }

    /** Shows the taking thread what was offered. */
    public void publish() {
        blocks.publish();
        distributions.publish();
        published = next;
    }

    /** The end of what can be taken: every position from {@link #released} up to it holds a sample. */
    public long published() {
        return published;
    }

    /**
     * Whether an eighth or less of the room is left, by any of its bounds. Asked by the taking thread, which may still
     * release something before anything is turned away.
     */
    public boolean isNearlyFull() {
        return published - released >= values.length - values.length / 8 || blocks.isNearlyFull()
                || distributions.isNearlyFull();
    }

    /** The first position that is not released. */
    public long released() {
        return released;
    }

    /**
     * The number of the block that holds the sample at a position, which is published and not released. Numbers rise by
     * one.
     */
    public long block(long position) {
        return blocks.find(position);
    }

    /** The layout of a block. */
    public Layout layout(long block) {
        return blocks.layout(block);
    }

    /** The position of a block's first sample. */
    public long start(long block) {
        return blocks.start(block);
    }

    /** The position behind a block's last sample. */
    public long end(long block) {
        return blocks.end(block);
    }

    /** The event time of a block's first row, ms. */
    public long firstMs(long block) {
        return blocks.firstMs(block);
    }

    /** The event time of a block's last row, ms. */
    public long lastMs(long block) {
        return blocks.lastMs(block);
    }

    /** Reads a block of numbers, none of which is released. */
    public void read(long block, Block into) {
        blocks.read(block, into);
        int slot = slot(blocks.start(block));
        int first = Math.min(into.samples, values.length - slot);
        System.arraycopy(values, slot, into.values, 0, first);
        System.arraycopy(values, 0, into.values, first, into.samples - first);
    }

    /** The encoded HistogramSample of a block; null if it is a block of numbers. */
    public byte[] distribution(long block) {
        return layout(block).isOfDistributions() ? distributions.get((long) values[slot(start(block))]) : null;
    }

    /**
     * Gives the slots before a position back to the offering thread. A block keeps its entry until all of its samples
     * are released.
     */
    public void release(long upTo) {
        if (upTo > published) {
            throw new IllegalArgumentException("cannot release up to " + upTo + ": published up to " + published);
        }
        if (upTo <= released) {
            return;
        }
        for (long block = blocks.released(); blocks.start(block) < upTo && blocks.end(block) <= upTo; block++) {
            if (layout(block).isOfDistributions()) {
                distributions.release();
            }
            blocks.release();
        }
        released = upTo;
    }

    private int slot(long position) {
        return (int) (position % values.length);
    }
}
