package io.github.bulletmetrics.storm.send;

import java.util.ArrayList;
import java.util.List;

/**
 * Decides which address comes next, and with which generation. It knows no stream. Times are passed to it in ms of a
 * monotonic clock.
 *
 * <p>Addresses are tried in order. After a stream that made progress, the order starts again with the first one. If the
 * last collector sent states, it is tried once more before the others, because a broken connection does not mean that
 * the sender moved. While it uses another address than the first, the sender tries the first one at intervals. These
 * double if a return did not last.
 *
 * <p>A generation belongs to one address. An attempt at another address has a generation that was never used before.
 * Otherwise a collector could take batches for the successors of those that it received before the sender moved away.
 */
final class Route {
    private static final int NONE = -1;
    private static final long NEVER = Long.MAX_VALUE;
    /** The longest pause before a return, in those of the beginning. */
    private static final int MAX_RETURN_PAUSES = 16;

    private final List<Address> order;
    private final long returnAfterMs;

    /** Places in the order that are still to be tried; the first of them is next. */
    private List<Integer> round;
    /** Whether the first of the round has broken off and is tried once more. */
    private boolean retryingLast;

    /** Who opened last, and under which generation. */
    private int last = NONE;
    private boolean givesStates;
    private long generation;
    /** Whether no further stream may open under it. */
    private boolean generationEnded;
    private long newestOffered = 1;

    private long returnAtMs = NEVER;
    private long returnPauseMs;
    /** When the last return began; NEVER if there was none since the sender left the first address. */
    private long returnedMs = NEVER;
    private long lostAtFirstMs;

    /**
     * @param order the addresses, one at least.
     * @param returnAfterMs the pause before a first return, ms.
     */
    Route(List<Address> order, long returnAfterMs) {
        this.order = order;
        this.returnAfterMs = returnAfterMs;
        returnPauseMs = returnAfterMs;
        round = newRound();
    }

    private List<Integer> newRound() {
        List<Integer> places = new ArrayList<>();
        for (int place = 0; place < order.size(); place++) {
            places.add(place);
        }
        if (givesStates) {
            places.remove(last);
            places.add(0, last);
        }
        return places;
    }

    /** The place of the next address. */
    int next() {
        return round.get(0);
    }

    /** The address at a place. */
    Address address(int place) {
        return order.get(place);
    }

    /** The generation of an attempt at a place. */
    long offer(int place) {
        if (place == last && !generationEnded) {
            return generation;
        }
        return last == NONE ? newestOffered : ++newestOffered;
    }

    /**
     * A stream opened.
     *
     * @param offer its generation.
     * @param states whether its collector gives states.
     * @param unseen whether its collector does not know the generation.
     * @return whether nobody opened under this generation before.
     */
    boolean opened(int place, long offer, boolean states, boolean unseen, long nowMs) {
        boolean fresh = offer != generation;
        if (place != last) {
            moved(place, nowMs);
        }
        last = place;
        givesStates = states;
        generation = offer;
        // This is not the collector that had it: it lost its disk, or a name has several addresses. No other collector
        // may continue with this generation.
        generationEnded = unseen && !fresh;
        return fresh;
    }

    /** No further stream may open under the generation of the last that did. */
    void endGeneration() {
        generationEnded = true;
    }

    private void moved(int place, long nowMs) {
        if (place == 0) {
            returnAtMs = NEVER;
            return;
        }
        if (returnedMs != NEVER) {
            boolean lasted = lostAtFirstMs - returnedMs >= returnAfterMs;
            returnPauseMs = lasted ? returnAfterMs
                    : Math.min(returnPauseMs * 2, returnAfterMs * MAX_RETURN_PAUSES);
            returnedMs = NEVER;
        }
        returnAtMs = nowMs + returnPauseMs;
    }

    /**
     * The stream at the next address ended, or did not open.
     *
     * @param progressed whether it acknowledged something.
     * @param steady whether it also lasted for a while.
     * @return whether a pause is due: a round is over, or it worked.
     */
    boolean failed(boolean progressed, boolean steady, long nowMs) {
        if (progressed && round.get(0) == 0) {
            lostAtFirstMs = nowMs;
        }
        if (givesStates ? steady : progressed) {
            round = newRound();
            retryingLast = true;
            return true;
        }
        if (givesStates && progressed && !retryingLast) {
            retryingLast = true;
            return true;
        }
        retryingLast = false;
        round.remove(0);
        if (round.isEmpty()) {
            round = newRound();
            return true;
        }
        return progressed;
    }

    /** When to try the first address while another is used; {@link Long#MAX_VALUE} for never. */
    long returnAtMs() {
        return givesStates ? returnAtMs : NEVER;
    }

    /** A return failed. */
    void notReturned(long nowMs) {
        returnAtMs = nowMs + returnPauseMs;
    }

    /** A return succeeded; the stream at the first address counts as {@link #opened} by itself. */
    void returned(long nowMs) {
        returnedMs = nowMs;
        round = newRound();
        retryingLast = false;
    }
}
