package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.State;

/**
 * Carries streams of batches to a collector. It is called only by the sender's thread, and calls listeners on its own
 * threads.
 */
public interface Transport {
    /**
     * Begins a stream and sends {@code open} on it. Returns without waiting for the network and does not throw: what
     * becomes of the stream, a failure to begin it included, is reported to the listener.
     *
     * @param to the collector.
     * @param open the first message.
     * @param listener receives what the collector answers.
     */
    Stream open(Address to, Open open, Listener listener);

    /** One stream. It releases its resources when it has ended. */
    interface Stream {
        /**
         * Answers that are handed to the listener before any is asked for by {@link #requestAnswer}: few, so that those
         * which wait, parts of a state for instance, wait at the collector.
         */
        int ANSWERS_AHEAD = 3;

        /**
         * Whether a batch or a part of a state would be taken at once; when it turns true the listener hears
         * {@link Listener#writable}.
         */
        boolean isReady();

        /** Sends a batch after those before it. Ignored on a stream that has ended. */
        void send(Batch batch);

        /** Sends a part of a state; for the rest as with a batch. */
        void send(State part);

        /** Lets the collector give one answer more. Ignored on a stream that has ended. */
        void requestAnswer();

        /** Announces that nothing more will be sent; the collector then ends the stream. */
        void finish();

        /** Ends the stream at once. May be called more than once, and after its end. */
        void cancel(String why);
    }

    /** Receives the events of a stream. Its methods return at once and do not throw. */
    interface Listener {
        /** The collector sent a message. */
        void received(ExportResponse response);

        /** The stream takes batches again. */
        void writable();

        /** The stream has ended; there are no further calls. */
        void ended(StreamEnd end);
    }
}
