package io.github.bulletmetrics.storm.send;

import com.google.protobuf.ByteString;
import io.github.bulletmetrics.storm.proto.v1.State;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;

/**
 * Holds the newest complete state that a collector sent, and the parts of the one that is arriving. When the sender
 * moves, it passes the state to the next collector. That collector then continues with the same slices (decision 18 in
 * docs/decisions).
 *
 * <p>The parts are stored unchanged, because only collectors read the content of a state. Used only by the sender's
 * thread.
 */
final class TransferState {
    /** A part at most, as service.proto has it. */
    static final int MAX_PART_BYTES = 256 << 10;
    /** A state at most: 20 bytes a series, so 800,000 of them. */
    static final int MAX_BYTES = 16 << 20;

    private List<ByteString> parts = Collections.emptyList();
    private long sequence;

    private final List<ByteString> incoming = new ArrayList<>();
    private long incomingSequence;
    private long incomingBytes;

    /** A new stream: what came of a state on the one before does not go on. */
    void beginStream() {
        incoming.clear();
        incomingBytes = 0;
    }

    /**
     * Adds a received part. After the last one {@link #complete} or {@link #beginStream} must be called.
     *
     * @return what is wrong with it; null if nothing is.
     */
    String add(State part) {
        int bytes = part.getData().size();
        if (bytes > MAX_PART_BYTES) {
            return "a part of its state has " + bytes + " bytes; the limit is " + MAX_PART_BYTES;
        }
        if (!incoming.isEmpty() && part.getSequence() != incomingSequence) {
            return "it mixed the parts of two states, up to batches " + incomingSequence + " and "
                    + part.getSequence();
        }
        incomingBytes += bytes;
        if (incomingBytes > MAX_BYTES) {
            return "its state has more than " + MAX_BYTES + " bytes";
        }
        incomingSequence = part.getSequence();
        incoming.add(part.getData());
        return null;
    }

    /** The batches up to this sequence are in the state. */
    long sequence() {
        return sequence;
    }

    /** Whether a state up to a sequence replaces the current one, because it is not older. */
    boolean replaces(long upTo) {
        return upTo >= sequence;
    }

    /** The state that arrived is complete and replaces the one before. One without bytes means that there is none. */
    void complete() {
        sequence = incomingBytes == 0 ? 0 : incomingSequence;
        parts = incomingBytes == 0 ? Collections.emptyList() : new ArrayList<>(incoming);
        beginStream();
    }

    /** Forgets the state. */
    void clear() {
        parts = Collections.emptyList();
        sequence = 0;
    }

    boolean isEmpty() {
        return parts.isEmpty();
    }

    /** The messages to a collector that wants the state: its parts, or that there is none. */
    Deque<State> toSend(ByteString epoch) {
        Deque<State> states = new ArrayDeque<>();
        for (ByteString part : parts) {
            states.add(State.newBuilder().setEpoch(epoch).setSequence(sequence).setData(part)
                    .setLast(states.size() == parts.size() - 1).build());
        }
        if (states.isEmpty()) {
            states.add(State.newBuilder().setEpoch(epoch).setLast(true).build());
        }
        return states;
    }
}
