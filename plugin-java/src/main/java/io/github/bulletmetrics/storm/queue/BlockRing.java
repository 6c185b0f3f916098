package io.github.bulletmetrics.storm.queue;

/**
 * The metadata of the blocks in a {@link SampleQueue}, without their values, in the queue's order. It is a ring with
 * its own bound. A block with one row and no empty cell takes one entry. Any other block also takes words for its rows,
 * their offsets and its presence. It is used by the queue's two threads in the same way as the queue.
 */
final class BlockRing {
    private static final int HAS_OFFSETS = 1 << 30;
    private static final int HAS_PRESENCE = 1 << 31;
    private static final int ROWS = HAS_OFFSETS - 1;
    /** Rows with the flags, and the step. */
    private static final int HEADER_WORDS = 2;

    // There is one slot more than blocks. The slot after the newest block has the start of the next one, so that every
    // block's end is known.
    private final Layout[] layouts;
    private final long[] firstMs;
    private final long[] starts;
    private final int[] wordStarts;
    /** Its length is a power of two, so that word numbers may overflow. */
    private final int[] words;

    // The offering thread's own.
    private long next;
    private int nextWord;
    // Written by one thread, read by the other.
    private volatile long published;
    private volatile long released;
    private volatile int releasedWords;

    BlockRing(int blocks, int wordCount) {
        layouts = new Layout[blocks + 1];
        firstMs = new long[blocks + 1];
        starts = new long[blocks + 1];
        wordStarts = new int[blocks + 1];
        words = new int[Integer.highestOneBit(wordCount - 1) << 1];
    }

    /** Adds a block at the end; false if there is no space. */
    boolean offer(Block block) {
        int needed = needed(block);
        if (next - released == layouts.length - 1 || nextWord - releasedWords > words.length - needed) {
            return false;
        }
        if (needed > 0) {
            write(block);
        }
        put(block.layout, block.firstMs, block.samples);
        return true;
    }

    /** Adds a block of one sample. */
    boolean offer(Layout layout, long timeMs) {
        if (next - released == layouts.length - 1) {
            return false;
        }
        put(layout, timeMs, 1);
        return true;
    }

    private void put(Layout layout, long timeMs, int samples) {
        int slot = slot(next);
        layouts[slot] = layout;
        firstMs[slot] = timeMs;
        next++;
        int following = slot(next);
        starts[following] = starts[slot] + samples;
        wordStarts[following] = nextWord;
    }

    private static int needed(Block block) {
        if (block.rows == 1 && !block.hasOffsets && block.isComplete()) {
            return 0;
        }
        return HEADER_WORDS + (block.hasOffsets ? block.rows : 0) + (block.isComplete() ? 0
                : Block.presenceWords(block.cells()));
    }

    private void write(Block block) {
        write(block.rows | (block.hasOffsets ? HAS_OFFSETS : 0) | (block.isComplete() ? 0 : HAS_PRESENCE));
        write(block.stepMs);
        for (int row = 0; block.hasOffsets && row < block.rows; row++) {
            write(block.offsetsMs[row]);
        }
        for (int word = 0; !block.isComplete() && word < Block.presenceWords(block.cells()); word++) {
            write(block.presence[word]);
        }
    }

    private void write(int word) {
        words[nextWord++ & words.length - 1] = word;
    }

    /** Shows the taking thread what was offered. */
    void publish() {
        published = next;
    }

    /** Whether of what is published an eighth of all room is left, or less. */
    boolean isNearlyFull() {
        return published - released >= layouts.length - layouts.length / 8
                || wordStarts[slot(published)] - releasedWords >= words.length - words.length / 8;
    }

    /** The block that holds the sample at a position, which is published and not released. */
    long find(long position) {
        long low = released;
        long high = published;
        while (high - low > 1) {
            long middle = low + high >>> 1;
            if (start(middle) <= position) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return low;
    }

    Layout layout(long block) {
        return layouts[slot(block)];
    }

    /** The position of its first sample. */
    long start(long block) {
        return starts[slot(block)];
    }

    /** The position after its last sample. */
    long end(long block) {
        return starts[slot(block + 1)];
    }

    /** Regular event time of the first row, ms. */
    long firstMs(long block) {
        return firstMs[slot(block)];
    }

    /** Event time of the last row, ms. */
    long lastMs(long block) {
        int head = head(block);
        int last = (head & ROWS) - 1;
        if (last <= 0) {
            return firstMs(block) + (hasOffsets(head) ? word(block, HEADER_WORDS) : 0);
        }
        return firstMs(block) + (long) last * word(block, 1)
                + (hasOffsets(head) ? word(block, HEADER_WORDS + last) : 0);
    }

    /** Reads all of a block but its values. */
    void read(long block, Block into) {
        int head = head(block);
        int rows = Math.max(1, head & ROWS);
        into.begin(layout(block), firstMs(block), head == 0 ? 0 : word(block, 1), rows);
        int at = HEADER_WORDS;
        for (int row = 0; hasOffsets(head) && row < rows; row++) {
            into.offset(row, word(block, at++));
        }
        if ((head & HAS_PRESENCE) == 0) {
            into.fillPresence();
        } else {
            for (int word = 0; word < Block.presenceWords(into.cells()); word++) {
                into.presence[word] = word(block, at++);
            }
        }
        into.samples = (int) (end(block) - start(block));
    }

    private static boolean hasOffsets(int head) {
        return (head & HAS_OFFSETS) != 0;
    }

    /** 0 where a block has no words: it is of one row, complete. */
    private int head(long block) {
        return wordStarts[slot(block)] == wordStarts[slot(block + 1)] ? 0 : word(block, 0);
    }

    private int word(long block, int number) {
        return words[wordStarts[slot(block)] + number & words.length - 1];
    }

    /** The oldest block that is not released. */
    long released() {
        return released;
    }

    /** Gives the oldest block's room back. */
    void release() {
        layouts[slot(released)] = null;
        releasedWords = wordStarts[slot(released + 1)];
        released++;
    }

    private int slot(long block) {
        return (int) (block % layouts.length);
    }
}
