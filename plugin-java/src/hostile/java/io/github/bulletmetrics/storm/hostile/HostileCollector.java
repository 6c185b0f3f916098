package io.github.bulletmetrics.storm.hostile;

import java.io.IOException;

/** A collector on a port of 127.0.0.1 that does no good, in one of several ways. */
public interface HostileCollector extends AutoCloseable {
    /** What it does. */
    enum Kind {
        /** Accepts connections and never answers. */
        BLACKHOLE,
        /** Reads and writes a byte at a time, with a pause after each. */
        SLOW,
        /** Writes bytes that are no HTTP/2. */
        GARBAGE,
        /** Resets every connection (RST). */
        RESET,
        /** Speaks HTTP/2, and sends GOAWAY at once. */
        GOAWAY,
        /** Speaks HTTP/2, and sends PINGs without end, each of which wants an answer. */
        PINGS,
        /** Speaks HTTP/2, and sends SETTINGS without end, each of which wants an answer. */
        SETTINGS,
        /** Opens streams, and ends each with an error at its first batch. */
        BREAKING,
        /** Opens streams, and answers FULL to every batch, without requesting a pause. */
        FULL,
        /** Opens streams, and answers a batch with a message of several MiB. */
        HUGE,
        /** Opens streams, and answers a batch with 60 messages of nearly a MB. */
        LARGE,
        /** Opens streams, and acknowledges what was never sent without end. */
        FLOOD
    }

    /**
     * Starts it.
     *
     * @param port 0 for any.
     * @param pauseMs of {@link Kind#SLOW}, after each byte.
     */
    static HostileCollector start(Kind kind, int port, long pauseMs) throws IOException {
        switch (kind) {
            case BREAKING:
            case FULL:
            case HUGE:
            case LARGE:
            case FLOOD:
                return new HostileService(kind, port);
            default:
                return new HostileSocket(kind, port, pauseMs);
        }
    }

    /** Where it listens. */
    int port();

    /** Connections that it took, or batches that it was sent where it opens streams. */
    long met();

    @Override
    void close();
}
