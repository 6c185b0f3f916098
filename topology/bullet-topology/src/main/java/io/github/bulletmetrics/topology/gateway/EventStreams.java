package io.github.bulletmetrics.topology.gateway;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** All open streams and the few threads that write them, however many there are. Thread-safe. */
final class EventStreams implements AutoCloseable {
    /** Each waits for one slow client at most, and for the stall limit at most. */
    private static final int WRITERS = 16;

    private final ExecutorService writers = Executors.newFixedThreadPool(WRITERS, Threads.named("gateway-stream"));
    private final Set<EventStream> open = ConcurrentHashMap.newKeySet();
    private final StreamOptions options;
    private final Counters counters;
    private final long stopMs;

    EventStreams(StreamOptions options, Counters counters, long stopMs) {
        this.options = options;
        this.counters = counters;
        this.stopMs = stopMs;
    }

    /** A stream that is not open yet; {@code onGone} is called once if its client goes before the end. */
    EventStream create(Runnable onGone) {
        return new EventStream(options, writers, counters, open, onGone);
    }

    /** How often {@link #beat} is to be called, ms. */
    long beatMs() {
        return Math.max(1, Math.min(options.heartbeatMs(), options.stallMs()) / 2);
    }

    /** Lets each stream see to its client. Does not block. */
    void beat() {
        open.forEach(EventStream::beat);
    }

    int open() {
        return open.size();
    }

    /** Lets what waits be written for a moment, then ends the threads. */
    @Override
    public void close() throws InterruptedException {
        writers.shutdown();
        writers.awaitTermination(stopMs, TimeUnit.MILLISECONDS);
        writers.shutdownNow();
    }
}
