package io.github.bulletmetrics.topology.dsl;

import io.github.bulletmetrics.topology.source.LeftOut;
import io.github.bulletmetrics.topology.source.SourceFigures;

import java.util.ArrayList;
import java.util.List;

/**
 * The messages of one read that go on, each with the broker's timestamp where that is kept.
 *
 * @param messages what the connector returned; an ArrayList, since it travels in a tuple.
 * @param receivedMs a timestamp for each message, ms since 1970, or nothing at all.
 */
record Batch(ArrayList<Object> messages, ArrayList<Long> receivedMs) {
    static Batch empty() {
        return new Batch(new ArrayList<>(), new ArrayList<>());
    }

    /**
     * Leaves out what is no message and what the sampling does not take, and counts both.
     *
     * @param read what the connector returned.
     * @param arrivals what is known of each beside its value.
     * @param keepsTimestamps whether the broker's timestamps are wanted.
     */
    static Batch of(List<Object> read, Arrivals arrivals, boolean keepsTimestamps, Sampling sampling,
            SourceFigures figures) {
        Batch batch = empty();
        boolean timed = keepsTimestamps && arrivals.covers(read.size());
        for (int i = 0; i < read.size(); i++) {
            Object message = read.get(i);
            if (message == null) {
                figures.leaveOut(LeftOut.EMPTY);
            } else if (!sampling.takes()) {
                figures.leaveOut(LeftOut.SAMPLING);
            } else {
                batch.messages.add(message);
                if (timed) {
                    batch.receivedMs.add(arrivals.receivedMs(i));
                }
            }
        }
        return batch;
    }

    /** The broker's timestamp of a message, or null where none is kept. */
    Long receivedMs(int index) {
        return receivedMs.isEmpty() ? null : receivedMs.get(index);
    }

    boolean isEmpty() {
        return messages.isEmpty();
    }
}
