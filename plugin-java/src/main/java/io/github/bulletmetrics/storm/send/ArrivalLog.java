package io.github.bulletmetrics.storm.send;

import java.util.ArrayDeque;

/**
 * When samples came into the queue, to within {@link #GRAIN_MS}: a mark means that all before a position were there by
 * then.
 */
final class ArrivalLog {
    /** Time between two marks, ms: 360 of them for an hour. */
    static final long GRAIN_MS = 10_000;

    private final ArrayDeque<long[]> marks = new ArrayDeque<>();

    /** Takes note of how far the queue is filled. */
    void note(long published, long nowMs) {
        long[] last = marks.peekLast();
        if (last == null ? published > 0 : published > last[0] && nowMs - last[1] >= GRAIN_MS) {
            marks.add(new long[] {published, nowMs});
        }
    }

    /**
     * The position before which all samples came at or before a time. Marks up to it are forgotten, except the last.
     */
    long arrivedBy(long timeMs) {
        long position = 0;
        while (!marks.isEmpty() && marks.peekFirst()[1] <= timeMs) {
            position = marks.peekFirst()[0];
            if (marks.size() == 1) {
                break;
            }
            marks.removeFirst();
        }
        return position;
    }
}
