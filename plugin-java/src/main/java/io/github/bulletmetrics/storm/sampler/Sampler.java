package io.github.bulletmetrics.storm.sampler;

import java.lang.ref.WeakReference;

/**
 * Samples this process once a second on its own daemon thread. The thread ends when the sampler is garbage collected,
 * because Storm has no call that ends a worker metric.
 *
 * <p>A sample is taken 100 ms before each full second of the wall clock. Slices end at full seconds, so that the last
 * sample of a slice is at most 0.1 s old.
 */
public final class Sampler {
    /** Time between two samples, ms. */
    public static final int INTERVAL_MS = 1_000;
    /**
     * Time between two samples that have the host's CPU too, ms: as wide as a slice, since every worker of a host reads
     * the same.
     */
    public static final int HOST_INTERVAL_MS = 10_000;
    /** How long before the full second a sample is taken, ms. */
    static final int LEAD_MS = 100;

    private final SampleBuffer buffer;

    private Sampler(SampleBuffer buffer) {
        this.buffer = buffer;
    }

    /** Starts sampling. */
    public static Sampler start() {
        ProcessReader reader = new ProcessReader();
        Sampler sampler = new Sampler(new SampleBuffer(reader.process()));
        sampler.buffer.add(reader.read());
        WeakReference<Sampler> owner = new WeakReference<>(sampler);
        Thread thread = new Thread(() -> run(reader, owner), "bullet-metrics-sampler");
        thread.setDaemon(true);
        thread.start();
        return sampler;
    }

    /** Hands over the samples since the last call as a {@link SamplePack}; null when there is none. */
    public byte[] take() {
        return buffer.take();
    }

    /** When the sample after a time is due, ms since the Unix epoch; later than that time. */
    static long nextSampleMs(long nowMs) {
        long due = Math.floorDiv(nowMs, (long) INTERVAL_MS) * INTERVAL_MS + INTERVAL_MS - LEAD_MS;
        return due > nowMs ? due : due + INTERVAL_MS;
    }

    /**
     * A number that rises with each sample that has the host's CPU: the first, and then the last before each full
     * {@link #HOST_INTERVAL_MS}.
     */
    public static long hostTurn(long timeMs) {
        return Math.floorDiv(timeMs + LEAD_MS, (long) HOST_INTERVAL_MS);
    }

    /**
     * Static, and with a weak reference: a sampler that Storm released, as in a LocalCluster, takes its thread along.
     */
    private static void run(ProcessReader reader, WeakReference<Sampler> owner) {
        try {
            while (true) {
                long now = System.currentTimeMillis();
                Thread.sleep(nextSampleMs(now) - now);
                Sampler sampler = owner.get();
                if (sampler == null) {
                    return;
                }
                sample(reader, sampler.buffer);
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    /** A reading that fails is missing; the next is a second away. */
    private static void sample(ProcessReader reader, SampleBuffer buffer) {
        try {
            buffer.add(reader.read());
        } catch (RuntimeException unreadable) {
            // The consumer sees the hole in the times; there is nobody here to notify.
        }
    }
}
