package io.github.bulletmetrics.storm.queue;

/**
 * The encoded distributions in a {@link SampleQueue}, in the queue's order. It is a ring with its own bound in bytes,
 * because distributions differ in size. It is used by the queue's two threads in the same way as the queue.
 */
final class Distributions {
    /** Memory that one takes beside its bytes: the array's head and the ring's reference. */
    private static final int OVERHEAD_BYTES = 20;

    private final byte[][] slots;
    private final long maxBytes;
    // The offering thread's own.
    private long next;
    private long bytesOffered;
    // Written by the offering thread for the taking one.
    private volatile long published;
    private volatile long bytesPublished;
    // Written by the taking thread, which alone changes them.
    private volatile long released;
    private volatile long bytesReleased;

    Distributions(int capacity, long maxBytes) {
        this.slots = new byte[capacity][];
        this.maxBytes = maxBytes;
    }

    /** The position of what is offered next. */
    long next() {
        return next;
    }

    /** Whether there is room for one. */
    boolean hasCapacity(byte[] encoded) {
        return next - released < slots.length && bytesOffered + bytes(encoded) - bytesReleased <= maxBytes;
    }

    /** Adds one for which there is room. */
    void offer(byte[] encoded) {
        slots[(int) (next % slots.length)] = encoded;
        next++;
        bytesOffered += bytes(encoded);
    }

    /** Shows the taking thread what was offered. */
    void publish() {
        published = next;
        bytesPublished = bytesOffered;
    }

    /** Whether of what is published an eighth of all room is left, or less. */
    boolean isNearlyFull() {
        return published - released >= slots.length - slots.length / 8
                || bytesPublished - bytesReleased >= maxBytes - maxBytes / 8;
    }

    byte[] get(long position) {
        return slots[(int) (position % slots.length)];
    }

    /** Gives the oldest one's room back. */
    void release() {
        int slot = (int) (released % slots.length);
        bytesReleased += bytes(slots[slot]);
        slots[slot] = null;
        released++;
    }

    private static long bytes(byte[] encoded) {
        return encoded.length + OVERHEAD_BYTES;
    }
}
