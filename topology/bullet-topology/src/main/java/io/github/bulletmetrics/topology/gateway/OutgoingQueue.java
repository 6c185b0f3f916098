package io.github.bulletmetrics.topology.gateway;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * The messages that wait for a query spout to fetch them, in their order, up to a limit. Thread-safe.
 */
final class OutgoingQueue {
    private final ArrayBlockingQueue<String> messages;
    private final Counters counters;
    private volatile long lastPollNanos;
    private volatile boolean polled;

    OutgoingQueue(int capacity, Counters counters) {
        messages = new ArrayBlockingQueue<>(capacity);
        this.counters = counters;
    }

    /** False, and counted, when the queue is full. */
    boolean offer(String message) {
        boolean taken = messages.offer(message);
        if (!taken) {
            counters.queueFull.increment();
        }
        return taken;
    }

    /** The next message, or null. */
    String poll() {
        counters.polls.increment();
        lastPollNanos = System.nanoTime();
        polled = true;
        return messages.poll();
    }

    int depth() {
        return messages.size();
    }

    /** How long ago a query spout last asked, in ms; -1 for never. */
    long lastPollAgeMs() {
        return polled ? TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - lastPollNanos) : -1;
    }
}
