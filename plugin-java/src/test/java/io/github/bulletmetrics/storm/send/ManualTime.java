package io.github.bulletmetrics.storm.send;

/** Time that passes when a test advances it. */
final class ManualTime implements TimeSource {
    long nowMs = 1_000_000;
    /** How far the clock on the wall is ahead. */
    long wallAheadMs;

    @Override
    public long wallMs() {
        return 1_700_000_000_000L + nowMs + wallAheadMs;
    }

    @Override
    public long monotonicMs() {
        return nowMs;
    }
}
