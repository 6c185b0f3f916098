package io.github.bulletmetrics.topology.source;

import java.util.concurrent.TimeUnit;

/** The wall clock as it was at the start, moved on by the monotonic one: it never jumps. Thread-safe. */
final class Clock {
    private final long offsetMicros = TimeUnit.MILLISECONDS.toMicros(System.currentTimeMillis()) - monotonicMicros();

    /** Microseconds since 1970. */
    long micros() {
        return offsetMicros + monotonicMicros();
    }

    private static long monotonicMicros() {
        return TimeUnit.NANOSECONDS.toMicros(System.nanoTime());
    }
}
