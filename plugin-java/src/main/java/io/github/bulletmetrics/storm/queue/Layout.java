package io.github.bulletmetrics.storm.queue;

import java.util.Arrays;

/**
 * An ordered list of series, with an id that stays the same for the life of the sender. Its series are the columns of
 * {@link Block blocks}.
 *
 * <p>A task reports the same series each time. Defining the list once avoids sending the ids with every report.
 * Immutable and thread-safe.
 */
public final class Layout {
    /**
     * Series in a layout at most: with their definitions a block of it still fits a batch, unless their names are very
     * long.
     */
    public static final int MAX_COLUMNS = 1_024;

    private final int id;
    private final Series[] series;

    /**
     * @param id from 1, unique in its sender; of no meaning for a distribution's.
     * @param series the columns, none twice; not copied. At most {@link #MAX_COLUMNS}. Either all are of numbers, or it
     *     is one of distributions.
     */
    public Layout(int id, Series... series) {
        if (series.length < 1 || series.length > MAX_COLUMNS) {
            throw new IllegalArgumentException("a layout must have 1 to " + MAX_COLUMNS + " series: " + series.length);
        }
        this.id = id;
        this.series = series;
    }

    /** The id by which blocks refer to it. */
    public int id() {
        return id;
    }

    /** How many series it has. */
    public int columns() {
        return series.length;
    }

    /** The series of a column, from 0. */
    public Series series(int column) {
        return series[column];
    }

    /** Whether its samples are distributions, not numbers. */
    public boolean isOfDistributions() {
        return series[0].isDistribution();
    }

    /** The definition as it travels. */
    public io.github.bulletmetrics.storm.proto.v1.Layout definition() {
        io.github.bulletmetrics.storm.proto.v1.Layout.Builder definition =
                io.github.bulletmetrics.storm.proto.v1.Layout.newBuilder().setId(id);
        for (Series of : series) {
            definition.addSeriesIds(of.id());
        }
        return definition.build();
    }

    @Override
    public String toString() {
        return id + "=" + Arrays.toString(series);
    }
}
