package io.github.bulletmetrics.topology.dsl;

import java.util.Arrays;

/**
 * What a source knows of the messages of one read beside their values: when the broker received each, and how many
 * bytes it had. In the order in which the connector then returns the values. Used on the spout's thread alone.
 */
public final class Arrivals {
    private static final int USUAL_BATCH = 500;

    private long[] receivedMs = new long[USUAL_BATCH];
    private int size;
    private long bytes;
    private long repeated;

    /** Forgets the last read. */
    void clear() {
        size = 0;
    }

    /**
     * Takes down the next message.
     *
     * @param brokerMs the broker's timestamp, ms since 1970.
     * @param messageBytes key and value as the broker holds them, uncompressed.
     */
    public void add(long brokerMs, int messageBytes) {
        if (size == receivedMs.length) {
            receivedMs = Arrays.copyOf(receivedMs, 2 * size);
        }
        receivedMs[size++] = brokerMs;
        bytes += messageBytes;
    }

    /** Counts a message that this task had read before. */
    public void addRepeated() {
        repeated++;
    }

    /** Whether each of so many messages has its timestamp. */
    boolean covers(int messages) {
        return size == messages;
    }

    /** The broker's timestamp of a message of the last read, ms since 1970. */
    long receivedMs(int index) {
        return receivedMs[index];
    }

    /** Bytes of all reads. */
    long bytes() {
        return bytes;
    }

    /** Messages of all reads that had come before. */
    long repeated() {
        return repeated;
    }
}
