package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Workers;
import java.security.SecureRandom;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Owns the one thread that delivers queued samples. It is a daemon thread, so that it never keeps a worker alive, and
 * it starts on first use.
 *
 * <p>A random epoch, which is drawn here, identifies this sender. Together with a sequence number for each batch it
 * lets the collector recognize a batch that is sent twice.
 *
 * <p>Only the thread that offers samples may call {@link #wake} and {@link #wakeLive}. Any thread may call {@link
 * #close}.
 */
public final class Sender implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Sender.class);
    private static final int EPOCH_BYTES = 16;
    /** How much longer than the exporter's own time closing waits for the thread, ms. */
    private static final long CLOSE_GRACE_MS = 500;

    private final ExportOptions options;
    private final SampleQueue queue;
    private final Losses losses;
    private final Exporter exporter;
    private final Thread thread;
    private volatile boolean closing;
    /** Whether live samples were queued since the last step. */
    private volatile boolean live;
    /** Written before {@link #closing}. */
    private long closeByMs;
    private boolean started;
    private boolean failed;
    private long wokenAt;

    /**
     * @param queue what to send.
     * @param losses the drops to report.
     * @param workers the workers to report.
     * @param topology the topology's facts to report.
     * @param open how each stream begins.
     * @param transport what carries it.
     * @param addresses collectors, in the order in which they are tried; at least one.
     */
    public Sender(SampleQueue queue, Losses losses, Workers workers, TopologyInfo topology, Open open,
            Transport transport,
            List<Address> addresses) {
        this(queue, losses, workers, topology, open, transport, addresses, new ExportOptions());
    }

    Sender(SampleQueue queue, Losses losses, Workers workers, TopologyInfo topology, Open open, Transport transport,
            List<Address> addresses, ExportOptions options) {
        this.options = options;
        this.queue = queue;
        this.losses = losses;
        byte[] epoch = new byte[EPOCH_BYTES];
        new SecureRandom().nextBytes(epoch);
        thread = new Thread(this::run, "bullet-metrics-sender");
        thread.setDaemon(true);
        Outbox outbox = new Outbox(epoch, queue, losses, workers, topology, options);
        exporter = new Exporter(outbox, transport, addresses, open, options, TimeSource.SYSTEM, new Random(),
                this::unpark);
    }

    /** Starts the thread, if it was not. */
    public synchronized void start() {
        if (!started && !closing) {
            started = true;
            thread.start();
        }
    }

    /**
     * Announces that samples were queued: wakes the thread once there is a batch full of them. Called by the offering
     * thread.
     */
    public void wake() {
        if (queue.published() - wokenAt >= options.batchSamples) {
            wokenAt = queue.published();
            unpark();
        }
    }

    /** Announces that samples were queued that are shown live: wakes the thread at once. */
    public void wakeLive() {
        wokenAt = queue.published();
        live = true;
        unpark();
    }

    /**
     * Brings out what is queued, for {@link ExportOptions#closeTimeoutMs} at most, counts the rest, and ends. May be
     * called again.
     */
    @Override
    public void close() {
        synchronized (this) {
            if (!closing) {
                closeByMs = TimeSource.SYSTEM.monotonicMs() + options.closeTimeoutMs;
                closing = true;
            }
            if (!started) {
                started = true;
                thread.start();
            }
        }
        unpark();
        try {
            thread.join(options.closeTimeoutMs + CLOSE_GRACE_MS);
        } catch (InterruptedException hurried) {
            Thread.currentThread().interrupt();
        }
    }

    private void unpark() {
        LockSupport.unpark(thread);
    }

    private void run() {
        while (!exporter.isDone()) {
            long pauseMs = step();
            LockSupport.parkNanos(this, TimeUnit.MILLISECONDS.toNanos(pauseMs));
        }
        LOG.info("bullet-metrics: Closed the metrics sender. Undelivered samples: {} when closing, {} in total. Rejected by the collector: {}.",
                losses.total(DropReason.DROP_REASON_CLOSED), losses.total(), exporter.rejectedSamples());
    }

    private long step() {
        try {
            if (closing) {
                exporter.close(closeByMs);
            }
            if (live) {
                live = false;
                exporter.sendLive();
            }
            return exporter.step();
        } catch (Throwable bug) {
            if (!failed) {
                LOG.error("bullet-metrics: Sending metrics failed unexpectedly; retrying. Further unexpected failures are not logged.",
                        bug);
            }
            failed = true;
            exporter.recover();
            return options.lingerMs;
        }
    }
}
