package io.github.bulletmetrics.storm.flatten;

import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.Series;
import java.util.ArrayList;
import java.util.List;

/**
 * The layouts of a source's most recent reports, so that a report with the same series needs no new layout. The series
 * of each layout are sorted by id. Not thread-safe.
 */
final class Layouts {
    /**
     * Layouts held for one part of a report: where Storm hands over a source's metrics in several calls, these
     * alternate.
     */
    static final int KEPT = 4;
    /**
     * Parts of a report that have layouts of their own; those behind share the last one's. One part is
     * {@link Layout#MAX_COLUMNS} series.
     */
    static final int MAX_PARTS = 64;
    /**
     * A layout of more columns than this times the samples is not used: what is absent would cost more than the layout
     * saves.
     */
    static final int MAX_COLUMNS_PER_SAMPLE = 2;

    /** By part; of each the one used last first. */
    private final List<Layout[]> parts = new ArrayList<>(1);

    /**
     * A layout that has all series of a run of a tick, in their order.
     *
     * @param part how many runs of the tick come before.
     * @param tick sorted; from {@code from} up to {@code to} no series comes twice.
     */
    Layout of(int part, Tick tick, int from, int to, SeriesTable table) {
        Layout[] recent = recent(Math.min(part, MAX_PARTS - 1));
        int at = 0;
        while (at < KEPT - 1 && recent[at] != null && !fits(recent[at], tick, from, to)) {
            at++;
        }
        Layout found = recent[at];
        if (found == null || at == KEPT - 1 && !fits(found, tick, from, to)) {
            found = table.layout(tick.series(from, to));
        }
        System.arraycopy(recent, 0, recent, 1, at);
        recent[0] = found;
        return found;
    }

    /**
     * Whether a tick has the very series of the layout used last, in its order: it need not be sorted, and none of its
     * series be looked into.
     */
    boolean isLikeTheLast(Tick tick) {
        Layout last = recent(0)[0];
        if (last == null || last.columns() != tick.size()) {
            return false;
        }
        for (int at = 0; at < tick.size(); at++) {
            if (last.series(at) != tick.series(at)) {
                return false;
            }
        }
        return true;
    }

    private Layout[] recent(int part) {
        while (parts.size() <= part) {
            parts.add(new Layout[KEPT]);
        }
        return parts.get(part);
    }

    private static boolean fits(Layout layout, Tick tick, int from, int to) {
        int columns = layout.columns();
        if (columns < to - from || columns > (to - from) * MAX_COLUMNS_PER_SAMPLE) {
            return false;
        }
        int column = 0;
        for (int at = from; at < to; at++) {
            Series series = tick.series(at);
            while (column < columns && layout.series(column) != series && layout.series(column).id() < series.id()) {
                column++;
            }
            if (column == columns || layout.series(column) != series) {
                return false;
            }
            column++;
        }
        return true;
    }
}
