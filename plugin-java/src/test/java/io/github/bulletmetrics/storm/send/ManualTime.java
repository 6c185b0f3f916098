package io.github.bulletmetrics.storm.send;

/** Time that passes when told to. */
final class ManualTime implements TimeSource {
    long nowMs = 1_000_000;

    @Override
    public long wallMs() {
        return 1_700_000_000_000L + nowMs;
    }

    @Override
    public long monotonicMs() {
        return nowMs;
    }
}
