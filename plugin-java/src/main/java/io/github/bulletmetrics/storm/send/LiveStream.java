package io.github.bulletmetrics.storm.send;

import com.google.protobuf.ByteString;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.Opened;
import io.github.bulletmetrics.storm.proto.v1.State;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * One stream to a collector, with what its collector said about itself and how much each side may still send. Used by
 * the sender's thread only.
 */
final class LiveStream {
    /** Maximum number of unsolicited answers of a stream, because each costs CPU in the worker. */
    static final int MAX_UNASKED_ANSWERS = 64;
    /** Parts of states with so many bytes are bounded by those alone, which the transport counts. */
    static final int LARGE_PART_BYTES = 16 << 10;
    private static final int DEFAULT_MAX_BATCH_BYTES = 1 << 20;
    private static final int SECOND_MS = 1_000;

    final Address address;
    /** The position of the address in the route. */
    final int place;
    final long generation;
    final Inbox inbox;
    final Transport.Stream stream;
    final long beganMs;
    final long openTimeoutMs;

    boolean opened;
    boolean givesStates;
    int window;
    int maxBatchBytes;
    /** Batches that may be under way for now. */
    int allowed;
    /** Whether it acknowledged something. */
    boolean progressed;
    boolean finishing;
    /** By when it has to open, or to answer what is under way. */
    long deadlineMs;
    /** Until when no batch is sent. */
    long fullUntilMs = Long.MIN_VALUE;
    /** Whether a state that is not empty is sent on it, and how long batches wait for it, ms. */
    boolean sentState;
    long headStartMs;

    /** The messages of the state that are not sent yet. */
    private Deque<State> stateToSend = new ArrayDeque<>();
    /** Answers that the collector may still give, and from when each second brings one more. */
    private long answersLeft = MAX_UNASKED_ANSWERS;
    private long answersCountedMs;

    /**
     * Begins it.
     *
     * @param open names epoch and generation.
     */
    LiveStream(Transport transport, Address address, int place, Open open, Inbox inbox, long nowMs,
            long openTimeoutMs) {
        this.address = address;
        this.place = place;
        this.generation = open.getGeneration();
        this.inbox = inbox;
        this.beganMs = nowMs;
        this.openTimeoutMs = openTimeoutMs;
        deadlineMs = nowMs + openTimeoutMs;
        answersCountedMs = nowMs;
        stream = transport.open(address, open, inbox);
    }

    /** The collector opened it. */
    void opened(Opened answer, ExportOptions options, long nowMs) {
        opened = true;
        givesStates = answer.getGivesStates();
        window = Math.max(1, (int) Math.min(options.maxWindow, answer.getWindow() & 0xffff_ffffL));
        int offered = answer.getMaxBatchBytes();
        maxBatchBytes = offered > 0 ? offered : offered == 0 ? DEFAULT_MAX_BATCH_BYTES : Integer.MAX_VALUE;
        allowed = options.firstWindow;
        deadlineMs = nowMs + options.answerTimeoutMs;
    }

    /** The next answer, or null. Allows the collector to send another one. */
    ExportResponse poll(long nowMs) {
        ExportResponse answer = inbox.poll();
        if (answer == null) {
            return null;
        }
        stream.requestAnswer();
        if (givesStates) {
            long seconds = (nowMs - answersCountedMs) / SECOND_MS;
            answersCountedMs += seconds * SECOND_MS;
            answersLeft = Math.max(answersLeft, Math.min(MAX_UNASKED_ANSWERS, answersLeft + seconds));
        }
        if (answer.getState().getData().size() < LARGE_PART_BYTES) {
            answersLeft--;
        }
        return answer;
    }

    /** Whether it sent more answers than a collector does. */
    boolean isTalkative() {
        return answersLeft < 0;
    }

    /** Sends a state before any batch. */
    void sendState(TransferState transferState, ByteString epoch) {
        stateToSend = transferState.toSend(epoch);
        sentState = !transferState.isEmpty();
    }

    /** Whether a part of the state is not sent yet. */
    boolean isTransferring() {
        return !stateToSend.isEmpty();
    }

    /** Sends the next part of the state. */
    void sendState() {
        stream.send(stateToSend.remove());
        answersLeft++;
    }

    /** Sends a batch. */
    void sendBatch(Batch batch) {
        stream.send(batch);
        answersLeft++;
    }
}
