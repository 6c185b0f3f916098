package io.github.bulletmetrics.topology.source;

import com.yahoo.bullet.record.BulletRecord;

/**
 * What a source would have emitted since some time ago, and goes on to emit: an {@link Emission} on a clock of its own
 * that starts back then and runs up to the real one. Each record carries the time at which it was due, to the
 * millisecond. Pure: time is a parameter.
 */
final class PastEmission {
    private static final long STEP_MICROS = 1_000;

    private final Emission emission;
    private long clockMicros;

    PastEmission(GeneratorSettings settings, int task, int tasks, long startMicros) {
        emission = new Emission(settings, task, tasks, startMicros);
        clockMicros = startMicros;
    }

    /** Changes the rates from the moment that it has come to. */
    void apply(SourceControl next) {
        emission.apply(next, clockMicros);
    }

    /** What it follows. */
    SourceControl control() {
        return emission.control();
    }

    /** Records due and not yet emitted; may be asked by any thread. */
    long lag(long nowMicros) {
        return emission.lag(nowMicros);
    }

    /** The next record that is due by now, or null; its own time is {@link #dueMs}. */
    BulletRecord<?> next(long nowMicros) {
        BulletRecord<?> record = emission.next(clockMicros);
        while (record == null && clockMicros + STEP_MICROS <= nowMicros) {
            clockMicros += STEP_MICROS;
            record = emission.next(clockMicros);
        }
        return record;
    }

    /** When the last record was due, ms since 1970. */
    long dueMs() {
        return clockMicros / 1_000;
    }
}
