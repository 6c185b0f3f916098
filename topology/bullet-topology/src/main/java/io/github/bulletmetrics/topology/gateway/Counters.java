package io.github.bulletmetrics.topology.gateway;

import java.util.concurrent.atomic.LongAdder;

/**
 * What has happened to queries since the gateway's start. They balance:
 * {@code submitted = rejected + refused + returned + failed + timed_out + stopped + abandoned + active},
 * {@code windows = windows_sent + windows_left_out}, what waits in streams apart.
 */
final class Counters {
    /** Queries that came. */
    final LongAdder submitted = new LongAdder();
    /** Those that are no valid BQL, or not for this endpoint. */
    final LongAdder rejected = new LongAdder();
    /** Those turned away because a limit was reached. */
    final LongAdder refused = new LongAdder();
    /** Those answered with the topology's result. */
    final LongAdder returned = new LongAdder();
    /** Those that the topology ended with an error. */
    final LongAdder failed = new LongAdder();
    /** Those that the topology never answered; each was killed. */
    final LongAdder timedOut = new LongAdder();
    /** Those held when the gateway stopped. */
    final LongAdder stopped = new LongAdder();
    /** Those whose client went before the end of its stream; each was killed. */
    final LongAdder abandoned = new LongAdder();
    /** Results of windows that came for a held stream. */
    final LongAdder windows = new LongAdder();
    /** Those of them that were written to the client. */
    final LongAdder windowsSent = new LongAdder();
    /** Those that were not: the client was slower than its buffer is large, or had gone. */
    final LongAdder windowsLeftOut = new LongAdder();
    /** Results for which no query was held: too late, or of another gateway. */
    final LongAdder unknownResults = new LongAdder();
    /** Signals that the topology looped back. */
    final LongAdder signals = new LongAdder();
    /** Messages turned away because the queue to the topology was full. */
    final LongAdder queueFull = new LongAdder();
    /** Requests of the topology for a message. */
    final LongAdder polls = new LongAdder();
}
