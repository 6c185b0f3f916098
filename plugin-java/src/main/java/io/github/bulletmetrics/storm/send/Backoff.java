package io.github.bulletmetrics.storm.send;

import java.util.Random;

/** The pause between rounds of failed attempts: doubled from round to round, each shortened at random by up to half. */
final class Backoff {
    /** Beyond this many doublings the pause is the longest anyway. */
    private static final int MAX_DOUBLINGS = 20;

    private final long minMs;
    private final long maxMs;
    private final Random random;
    private int rounds;

    Backoff(long minMs, long maxMs, Random random) {
        this.minMs = minMs;
        this.maxMs = maxMs;
        this.random = random;
    }

    /** The pause after one more failed round, ms. */
    long nextMs() {
        long pause = Math.min(maxMs, minMs << Math.min(rounds, MAX_DOUBLINGS));
        rounds++;
        return pause - (long) (random.nextDouble() * pause / 2);
    }

    /** Something went well. */
    void reset() {
        rounds = 0;
    }
}
