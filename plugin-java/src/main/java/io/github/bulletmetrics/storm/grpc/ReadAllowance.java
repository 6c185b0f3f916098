package io.github.bulletmetrics.storm.grpc;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Limits how many bytes a collector may send on a connection: an initial amount, an amount for each message that it
 * receives, and a small amount for each second. gRPC answers every PING and SETTINGS frame and reads everything that
 * arrives, at the worker's expense. A correct collector never needs more than this.
 *
 * <p>If a collector sends states, their parts have their own allowance. The allowance that a part used is returned once
 * the part has arrived, so that everything else is limited exactly as with other collectors. Thread-safe.
 */
final class ReadAllowance {
    /** The reason in the log. */
    static final String EXCEEDED =
            "it sent more data than a collector does; check that the address is the gRPC port of a collector";
    /** HTTP/2's settings, pings and windows: some hundred bytes. */
    static final long START_BYTES = 8 << 10;
    /** TLS besides: the collector's certificates and the names of the authorities whose certificates it takes. */
    static final long TLS_BYTES = 64 << 10;
    /**
     * An acknowledgement has some dozens, with an example of each reason for a rejection about 2 KiB; the rest are
     * window updates.
     */
    static final long MESSAGE_BYTES = 8 << 10;
    /** Probes and their answers. */
    static final long SECOND_BYTES = 256;
    /** The unused allowance grows up to this. */
    static final long MAX_BYTES = 256 << 10;

    /** A part of a state and what is read behind it: advanced by the rest until the part is whole. */
    static final long STATE_PART_BYTES = 384 << 10;
    /** One of the largest states, 16 MiB, and some. */
    static final long MAX_STATE_BYTES = 20 << 20;
    /** So one of the largest states in four seconds. */
    static final long STATE_SECOND_BYTES = 4 << 20;

    private final LongSupplier nanoTime;
    /** {@link #MAX_BYTES}, and more where the collector gives states. */
    private long most = MAX_BYTES;
    private long left;
    private long leftOfStates;
    private long countedNs;

    /**
     * @param tls whether the bytes are TLS's.
     * @param nanoTime a monotonic clock, ns.
     */
    ReadAllowance(boolean tls, LongSupplier nanoTime) {
        this.nanoTime = nanoTime;
        left = START_BYTES + (tls ? TLS_BYTES : 0);
        countedNs = nanoTime.getAsLong();
    }

    /** A message was sent, for which there may be an answer. */
    synchronized void sent() {
        left = Math.min(most, left + MESSAGE_BYTES);
    }

    /** The collector gives states. */
    synchronized void givesStates() {
        if (most == MAX_BYTES) {
            most += STATE_PART_BYTES;
            left += STATE_PART_BYTES;
            leftOfStates = MAX_STATE_BYTES;
        }
    }

    /** A part of a state came, of so many bytes, which were {@link #read} before. */
    synchronized void stateReceived(int bytes) {
        long given = Math.min(bytes, leftOfStates);
        leftOfStates -= given;
        left = Math.min(most, left + given);
    }

    /** Whether it is why the connection was left, which gRPC does not report. */
    synchronized boolean exceeded() {
        return left < 0;
    }

    /**
     * Bytes were read.
     *
     * @throws IOException if they exceed the allowance; the connection must then be closed.
     */
    synchronized void read(int bytes) throws IOException {
        long seconds = TimeUnit.NANOSECONDS.toSeconds(nanoTime.getAsLong() - countedNs);
        countedNs += TimeUnit.SECONDS.toNanos(seconds);
        left = Math.min(most, left + Math.min(most, seconds * SECOND_BYTES)) - bytes;
        if (most > MAX_BYTES) {
            leftOfStates = Math.min(MAX_STATE_BYTES, leftOfStates + seconds * STATE_SECOND_BYTES);
        }
        if (left < 0) {
            throw new IOException(EXCEEDED);
        }
    }
}
