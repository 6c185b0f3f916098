package io.github.bulletmetrics.storm.send;

import java.util.ArrayDeque;

/**
 * Records when samples came into the queue, with a resolution of {@link #GRAIN_MS}. An entry has a position and a time:
 * all samples before the position had arrived by that time.
 */
final class ArrivalLog {
    /** Time between two entries, ms: 360 of them for an hour. */
    static final long GRAIN_MS = 10_000;

    private final ArrayDeque<long[]> entries = new ArrayDeque<>();

    /** Takes note of how far the queue is filled. */
    void note(long published, long nowMs) {
        long[] last = entries.peekLast();
        if (last == null ? published > 0 : published > last[0] && nowMs - last[1] >= GRAIN_MS) {
            entries.add(new long[] {published, nowMs});
        }
    }

    /**
     * The position before which all samples came at or before a time. Entries up to it are forgotten, except the last.
     */
    long arrivedBy(long timeMs) {
        long position = 0;
        while (!entries.isEmpty() && entries.peekFirst()[1] <= timeMs) {
            position = entries.peekFirst()[0];
            if (entries.size() == 1) {
                break;
            }
            entries.removeFirst();
        }
        return position;
    }
}
