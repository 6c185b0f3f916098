package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Holds the events of one stream that the sender has not handled yet. The transport's threads fill it and the sender's
 * thread empties it, so that all decisions are made on one thread.
 */
final class Inbox implements Transport.Listener {
    /** Answers held: the transport hands over a few and then one for each that is taken. */
    static final int CAPACITY = 1_024;
    /**
     * Their encoded bytes: an answer has some dozens, parts of states as many as are handed over fit, and one that the
     * transport lets through has a MiB at most.
     */
    static final long MAX_BYTES = 1 << 20;

    private final ArrayBlockingQueue<ExportResponse> responses = new ArrayBlockingQueue<>(CAPACITY);
    private final AtomicLong bytes = new AtomicLong();
    private final Runnable wake;
    private final TimeSource time;
    private volatile StreamEnd end;
    private volatile Answered answered;

    /**
     * @param wake called when there is something to look at.
     * @param time the clock by which answers come.
     */
    Inbox(Runnable wake, TimeSource time) {
        this.wake = wake;
        this.time = time;
    }

    @Override
    public void received(ExportResponse response) {
        if (end != null) {
            return;
        }
        long sentMs = response.getAcknowledgement().getSentTimeMs();
        if (sentMs > 0) {
            answered = new Answered(time.wallMs(), sentMs);
        }
        if (bytes.addAndGet(response.getSerializedSize()) > MAX_BYTES) {
            ended(StreamEnd.lost("the collector answers too fast: more than " + MAX_BYTES + " bytes are waiting"));
        } else if (!responses.offer(response)) {
            ended(StreamEnd.lost("the collector answers too fast: more than " + CAPACITY
                    + " answers are waiting"));
        }
        wake.run();
    }

    @Override
    public void writable() {
        wake.run();
    }

    @Override
    public void ended(StreamEnd how) {
        if (end == null) {
            end = how;
        }
        wake.run();
    }

    /** The next answer; null when there is none. */
    ExportResponse poll() {
        ExportResponse next = responses.poll();
        if (next != null) {
            bytes.addAndGet(-next.getSerializedSize());
        }
        return next;
    }

    /** The newest acknowledgement that states when it was sent; null if none did. */
    Answered answered() {
        return answered;
    }

    /** When an answer came, by our clock, and was sent, by the collector's; ms since the Unix epoch. */
    static final class Answered {
        final long receivedMs;
        final long sentMs;

        Answered(long receivedMs, long sentMs) {
            this.receivedMs = receivedMs;
            this.sentMs = sentMs;
        }
    }

    /** How the stream ended; null while it has not. Answers that came before may still wait. */
    StreamEnd end() {
        return end;
    }
}
