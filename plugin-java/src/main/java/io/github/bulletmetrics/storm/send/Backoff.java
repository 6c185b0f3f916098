package io.github.bulletmetrics.storm.send;

import java.util.Random;

/**
 * The pause between rounds of failed attempts. It doubles from round to round, and each pause is shortened at random by
 * up to half.
 */
final class Backoff {
    /** Beyond this many doublings the pause is the longest anyway. */
    private static final int MAX_DOUBLINGS = 20;

    private final long minMs;
    private final Random random;
    private int rounds;

    Backoff(long minMs, Random random) {
        this.minMs = minMs;
        this.random = random;
    }

    /**
     * The pause after one more failed round, ms.
     *
     * @param maxMs the longest one after a failure of this kind.
     */
    long nextMs(long maxMs) {
        long pause = Math.min(maxMs, minMs << Math.min(rounds, MAX_DOUBLINGS));
        rounds++;
        return pause - (long) (random.nextDouble() * pause / 2);
    }

    /** Something went well. */
    void reset() {
        rounds = 0;
    }
}
