package io.github.bulletmetrics.storm.sampler;

import java.util.ArrayDeque;

/**
 * Keeps samples until Storm reads the worker's metrics. It is bounded, because Storm may stop reading. When it is full,
 * the oldest samples are dropped and counted.
 *
 * <p>Thread-safe: the sampler's thread adds samples, and the executor thread of Storm's SystemBolt takes them.
 */
final class SampleBuffer {
    /** Samples held: Storm's longest interval is 127 s, and one sample a second is taken. */
    static final int CAPACITY = 130;

    private final SamplePack.Process process;
    private final ArrayDeque<long[]> rows = new ArrayDeque<>(CAPACITY);
    private int dropped;
    private long firstDroppedMs;
    private long lastDroppedMs;

    SampleBuffer(SamplePack.Process process) {
        this.process = process;
    }

    synchronized void add(long[] row) {
        if (rows.size() == CAPACITY) {
            lastDroppedMs = rows.remove()[SamplePack.TIME];
            firstDroppedMs = dropped == 0 ? lastDroppedMs : firstDroppedMs;
            dropped++;
        }
        rows.add(row);
    }

    /** Hands over what is held as a pack; null when nothing is. */
    synchronized byte[] take() {
        if (rows.isEmpty()) {
            return null;
        }
        byte[] pack = SamplePack.encode(process, dropped, firstDroppedMs, lastDroppedMs, System.currentTimeMillis(),
                rows);
        rows.clear();
        dropped = 0;
        firstDroppedMs = 0;
        lastDroppedMs = 0;
        return pack;
    }
}
