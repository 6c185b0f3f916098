package io.github.bulletmetrics.topology.source;

/**
 * One task's share of a stream of records that the whole topology emits at a steady rate. Pure: time is a parameter.
 *
 * <p>Record k of the topology is due at the microsecond {@code ceil(k * 1e6 / rate)} since 1970, and task i of n emits
 * those with {@code k mod n = i}. So the tasks agree without talking, a restarted task goes on where it should be, and
 * anybody who knows the rate can tell which records there must be. One thread writes; {@link #lag} may be
 * asked by any.
 */
final class Share {
    private static final double MICROS = 1e6;

    private final double perSecond;
    private final int tasks;
    private volatile long next;

    /**
     * Starts with the first record of the task that is due after a moment.
     *
     * @param perSecond records a second of the whole topology; 0 for none.
     * @param task which task this is, from 0.
     * @param tasks how many there are.
     * @param nowMicros the moment.
     */
    Share(double perSecond, int task, int tasks, long nowMicros) {
        this.perSecond = perSecond;
        this.tasks = tasks;
        long after = (long) Math.floor(nowMicros * perSecond / MICROS) + 1;
        next = after + Math.floorMod(task - after, (long) tasks);
    }

    double perSecond() {
        return perSecond;
    }

    /** The index k of the next record. */
    long index() {
        return next;
    }

    /** When the next record is due, in microseconds since 1970. */
    long dueMicros() {
        return (long) Math.ceil(next * MICROS / perSecond);
    }

    boolean isDue(long nowMicros) {
        return perSecond > 0 && dueMicros() <= nowMicros;
    }

    void advance() {
        next = next + tasks;
    }

    /** How many records of this task are due and not yet emitted. */
    long lag(long nowMicros) {
        if (!isDue(nowMicros)) {
            return 0;
        }
        long last = (long) Math.floor(nowMicros * perSecond / MICROS);
        return Math.max(1, (last - next) / tasks + 1);
    }

    /**
     * Leaves out what should have been emitted longer ago than a limit.
     *
     * @param nowMicros the moment.
     * @param limitMicros the longest that a record may be late.
     * @return how many records were left out.
     */
    long leaveOutOlder(long nowMicros, long limitMicros) {
        long oldest = nowMicros - limitMicros;
        if (!isDue(oldest)) {
            return 0;
        }
        long leftOut = lag(oldest);
        next = next + leftOut * tasks;
        return leftOut;
    }
}
