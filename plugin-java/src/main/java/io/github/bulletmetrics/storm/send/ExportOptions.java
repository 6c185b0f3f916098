package io.github.bulletmetrics.storm.send;

/** Limits and timeouts of sending. They are constant in production; tests change them. */
final class ExportOptions {
    /**
     * Samples in a batch at most: as columns about 50 KiB, as blocks half of that, so that a batch's own cost is small
     * against its samples'.
     */
    int batchSamples = 4_096;
    /**
     * A batch's size at most, bytes, all its definitions included; well below the 4 MiB that gRPC takes in one message.
     */
    int batchBytes = 512 * 1024;
    /** Longest time that a sample waits for more samples, ms. */
    long lingerMs = 1_000;
    /** Least time between two batches while live samples wait, ms. They leave at once after a longer pause. */
    long liveLingerMs = 250;
    /** Batches under way at most, whatever window the collector offers: 64 full ones are half of the default queue. */
    int maxWindow = 64;
    /**
     * Batches under way at the start of a stream and after "full"; doubled with each acknowledgement up to the window.
     * So a collector that refuses or breaks off again and again costs a batch each time, not a window of them.
     */
    int firstWindow = 1;
    /**
     * How long a stream must have lasted before a success counts as one for the pauses, ms: one that flaps keeps its
     * long pauses.
     */
    long steadyMs = 10_000;
    /** How long a sample is kept, ms: what the collector's rules on lateness count on. */
    long keepMs = 3_600_000;
    /** How long connecting and opening may take at first, ms. */
    long openTimeoutMs = 6_000;
    /**
     * How long it may take after an attempt that timed out, ms: a host may be so busy that a TLS handshake needs more.
     * TCP knocks after 0, 1, 3 and 7 s, so that with {@link #maxBackoffMs} no more than 8 s pass between two knocks,
     * and a collector's return is noticed within 10 s.
     */
    long longOpenTimeoutMs = 12_000;
    /** How long batches may be under way without any answer, ms, until the stream counts as dead. */
    long answerTimeoutMs = 10_000;
    /** The pause after a first round of failed attempts, ms; doubled from round to round. */
    long minBackoffMs = 250;
    /** The longest such pause where nobody was there, ms. */
    long maxBackoffMs = 3_000;
    /**
     * The longest such pause where somebody answered and the stream soon broke off, ms. Such an attempt costs 20 ms of
     * CPU and more, so there are to be few; and a collector that is back there is still found within 10 s.
     */
    long maxBrokenBackoffMs = 8_000;
    /** The pause after a refusal that only a person can lift, ms. */
    long deniedPauseMs = 10_000;
    /** The longest pause that a collector's "full" or "busy" can impose, ms. */
    long maxRetryAfterMs = 60_000;
    /** How long closing may take, ms. */
    long closeTimeoutMs = 5_000;
    /**
     * How long a stream away from the first address lasts before that one is tried beside it, ms, and the pause before
     * it is tried again.
     */
    long returnAfterMs = 60_000;
    /** The least time between two log lines about the same outage, ms. */
    long logAgainMs = 600_000;
}
