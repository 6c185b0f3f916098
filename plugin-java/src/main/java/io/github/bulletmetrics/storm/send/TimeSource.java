package io.github.bulletmetrics.storm.send;

import java.util.concurrent.TimeUnit;

/** The two clocks that a sender uses. */
public interface TimeSource {
    /** The machine's. */
    TimeSource SYSTEM = new TimeSource() {
        @Override
        public long wallMs() {
            return System.currentTimeMillis();
        }

        @Override
        public long monotonicMs() {
            return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
        }
    };

    /** The wall clock, ms since the Unix epoch: for what others receive. */
    long wallMs();

    /** A clock that never steps, ms since whenever: for deadlines. */
    long monotonicMs();
}
