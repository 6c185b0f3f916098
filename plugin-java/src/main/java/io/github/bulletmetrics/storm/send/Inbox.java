package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import java.util.concurrent.ArrayBlockingQueue;

/** What was heard of one stream and not yet acted upon. Filled by the transport's threads, emptied by the sender's. */
final class Inbox implements Transport.Listener {
    /** Answers held: a collector gives about one a batch, and a window has 64. One that says more is no collector. */
    static final int CAPACITY = 1_024;

    private final ArrayBlockingQueue<ExportResponse> responses = new ArrayBlockingQueue<>(CAPACITY);
    private final Runnable wake;
    private volatile StreamEnd end;

    /**
     * @param wake called when there is something to look at.
     */
    Inbox(Runnable wake) {
        this.wake = wake;
    }

    @Override
    public void received(ExportResponse response) {
        if (!responses.offer(response)) {
            ended(StreamEnd.lost("the collector answers faster than it is asked: more than " + CAPACITY + " answers wait"));
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
        return responses.poll();
    }

    /** How the stream ended; null while it has not. Answers that came before may still wait. */
    StreamEnd end() {
        return end;
    }
}
