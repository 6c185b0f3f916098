package io.github.bulletmetrics.storm.flatten;

import io.github.bulletmetrics.storm.queue.Series;
import java.util.Arrays;

/** The numbers of one report, in columns that are reused for the next report. Not thread-safe. */
final class Tick {
    private static final int FIRST_CAPACITY = 256;
    /** Gaps of Shell's sort. Source: Ciura, Best Increments for the Average Case of Shellsort, 2001. */
    private static final int[] GAPS = {701, 301, 132, 57, 23, 10, 4, 1};

    private Series[] series = new Series[FIRST_CAPACITY];
    private double[] values = new double[FIRST_CAPACITY];
    private int size;
    private int maxSize;

    /** Begins another report of at most so many numbers. */
    void begin(int most) {
        size = 0;
        maxSize = most;
    }

    /** Adds a number; false when there are as many as there may be. */
    boolean add(Series of, double value) {
        if (size >= maxSize) {
            return false;
        }
        if (size == values.length) {
            series = Arrays.copyOf(series, size * 2);
            values = Arrays.copyOf(values, size * 2);
        }
        series[size] = of;
        values[size++] = value;
        return true;
    }

    int size() {
        return size;
    }

    /** Takes back all but the first so many. */
    void truncate(int to) {
        size = to;
    }

    Series series(int at) {
        return series[at];
    }

    double value(int at) {
        return values[at];
    }

    /**
     * Brings the numbers into the order of their series' ids. Most come in it, since ids are given in the order of the
     * first report.
     */
    void sort() {
        for (int i = 1; i < size; i++) {
            if (series[i - 1].id() > series[i].id()) {
                for (int gap : GAPS) {
                    sort(gap);
                }
                return;
            }
        }
    }

    private void sort(int gap) {
        for (int i = gap; i < size; i++) {
            Series of = series[i];
            double value = values[i];
            int at = i;
            for (; at >= gap && series[at - gap].id() > of.id(); at -= gap) {
                series[at] = series[at - gap];
                values[at] = values[at - gap];
            }
            series[at] = of;
            values[at] = value;
        }
    }

    /** The end of the run of distinct series that begins at a place of a sorted tick, at most so long. */
    int endOfRun(int from, int longest) {
        int end = from + 1;
        while (end < size && end - from < longest && series[end] != series[end - 1]) {
            end++;
        }
        return end;
    }

    /** The series of a part. */
    Series[] series(int from, int to) {
        return Arrays.copyOfRange(series, from, to);
    }
}
