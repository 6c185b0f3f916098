package io.github.bulletmetrics.storm.queue;

import java.util.Arrays;

/**
 * A rectangle of samples that is filled and read repeatedly. It has one column for each series of a layout, and one row
 * for each time. Cells are numbered column by column: row r of column c is cell {@code c * rows + r}. A cell has a
 * sample or is empty.
 *
 * <p>A block is filled with {@link #begin}, {@link #offset} for a row whose time deviates, and {@link #add} or {@link
 * #skip} for every cell in order. Not thread-safe.
 */
public final class Block {
    /** Cells in a block at most: those of a full batch. */
    public static final int MAX_CELLS = 4_096;
    private static final int BITS = 32;

    Layout layout;
    long firstMs;
    int stepMs;
    int rows;
    boolean hasOffsets;
    /** The offset of each row; stale unless {@link #hasOffsets} is set. */
    final int[] offsetsMs = new int[MAX_CELLS];
    /** A bit a cell, the least significant first; those behind the last cell are 0. */
    final int[] presence = new int[MAX_CELLS / BITS];
    /** The values of the cells that have a sample, in their order. */
    final double[] values = new double[MAX_CELLS];
    int samples;
    private int cells;

    /** An empty one. */
    public Block() {
    }

    /**
     * Begins to fill it.
     *
     * @param of what the columns are.
     * @param firstTimeMs event time of the first row, ms since the Unix epoch.
     * @param step time from one row to the next, ms; 0 if there is only one row.
     * @param rowCount rows; times columns at most {@link #MAX_CELLS}.
     */
    public void begin(Layout of, long firstTimeMs, int step, int rowCount) {
        layout = of;
        firstMs = firstTimeMs;
        stepMs = step;
        rows = rowCount;
        hasOffsets = false;
        samples = 0;
        cells = 0;
        Arrays.fill(presence, 0, presenceWords(of.columns() * rowCount), 0);
    }

    /** Sets the deviation of a row from its regular time, ms. */
    public void offset(int row, int ms) {
        if (!hasOffsets) {
            Arrays.fill(offsetsMs, 0, rows, 0);
            hasOffsets = true;
        }
        offsetsMs[row] = ms;
    }

    /** The next cell holds a sample. */
    public void add(double value) {
        presence[cells / BITS] |= 1 << cells;
        cells++;
        values[samples++] = value;
    }

    /** The next cell holds nothing. */
    public void skip() {
        cells++;
    }

    /** The layout, which defines the columns. */
    public Layout layout() {
        return layout;
    }

    /** Regular event time of the first row, ms. */
    public long firstMs() {
        return firstMs;
    }

    /** Time from one row to the next, ms; undefined if there is only one row. */
    public int stepMs() {
        return stepMs;
    }

    /** How many rows there are. */
    public int rows() {
        return rows;
    }

    /** Columns times rows. */
    public int cells() {
        return layout.columns() * rows;
    }

    /** Whether any row deviates from its regular time. */
    public boolean hasOffsets() {
        return hasOffsets;
    }

    /** The deviation of a row from its regular time, ms. */
    public int offsetMs(int row) {
        return hasOffsets ? offsetsMs[row] : 0;
    }

    /** Event time of a row, ms since the Unix epoch. */
    public long timeMs(int row) {
        return firstMs + (long) row * stepMs + offsetMs(row);
    }

    /** How many cells hold a sample. */
    public int samples() {
        return samples;
    }

    /** Whether all cells hold a sample. */
    public boolean isComplete() {
        return samples == cells();
    }

    /** Whether a cell holds a sample. */
    public boolean isPresent(int cell) {
        return (presence[cell / BITS] >> cell & 1) == 1;
    }

    /** The value of a sample; samples are in the order of their cells. */
    public double value(int sample) {
        return values[sample];
    }

    /** Words of a bitmap of so many cells. */
    static int presenceWords(int cells) {
        return (cells + BITS - 1) / BITS;
    }

    /** Marks all cells as holding a sample. */
    void fillPresence() {
        int all = cells();
        Arrays.fill(presence, 0, all / BITS, -1);
        if (all % BITS != 0) {
            presence[all / BITS] = (1 << all) - 1;
        }
    }
}
