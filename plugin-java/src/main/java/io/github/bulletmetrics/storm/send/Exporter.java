package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.proto.v1.Acknowledgement;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse.MessageCase;
import io.github.bulletmetrics.storm.proto.v1.Full;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.Opened;
import io.github.bulletmetrics.storm.proto.v1.RejectionReason;
import io.github.bulletmetrics.storm.proto.v1.State;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Decides what is sent, where and when. One {@link #step} does everything that is due. It never waits, and uses only
 * the clock that it is given. Not thread-safe.
 *
 * <p>{@link Route} decides which address comes next. A round of failures is followed by a pause, which is longer if
 * streams broke off than if nobody answered. Opening a stream and acknowledging a batch have time limits. After "full"
 * the refused batches are sent again on the same stream, and after a broken stream on the next one. If a stream failed
 * because it was not understood, batches are sent one at a time until all that were in flight are acknowledged, so that
 * the faulty batch is identified. If that batch is refused again, it is abandoned.
 *
 * <p>A collector that transfers states receives the {@link TransferState} before any batch, if it asks for it. While
 * the sender uses another address than its first, it tries from time to time to open a second stream to the first one.
 * If that succeeds, the sender moves back.
 */
final class Exporter {
    private static final Logger LOG = LoggerFactory.getLogger(Exporter.class);
    private static final long NEVER = Long.MAX_VALUE;
    /** How long a state that may be faulty is sent before any batch, ms. */
    private static final long STATE_HEAD_START_MS = 2_000;

    private final Outbox outbox;
    private final TransferState transferState = new TransferState();
    private final Transport transport;
    private final Route route;
    private final Open open;
    private final ExportOptions options;
    private final TimeSource time;
    private final Backoff backoff;
    private final Runnable wake;
    private final OutageLog outages;
    private final RejectionLog rejections = new RejectionLog();

    private long retryAtMs = Long.MIN_VALUE;
    private long flushedMs = Long.MIN_VALUE / 2;
    private long closeByMs = NEVER;
    /** Whether live samples wait. */
    private boolean live;
    private boolean done;
    /** Whether opening a stream has timed out since the last progress. */
    private boolean timedOut;
    /** Whether, in this round of addresses, a stream broke soon after it had begun. */
    private boolean brokeEarly;

    /** The stream in use, or null. */
    private LiveStream current;
    /** A second stream to the first address, not open yet, or null. */
    private LiveStream returning;

    // After a stream whose content the collector did not understand.
    private long probeUpTo;
    private long suspect;
    private boolean stateSuspected;

    /**
     * @param addresses in the order in which they are tried.
     * @param wake called by the transport's threads when a step may be due.
     */
    Exporter(Outbox outbox, Transport transport, List<Address> addresses, Open open, ExportOptions options,
            TimeSource time, Random random,
            Runnable wake) {
        this.outbox = outbox;
        this.transport = transport;
        this.route = new Route(addresses, options.returnAfterMs);
        this.open = open;
        this.options = options;
        this.time = time;
        this.backoff = new Backoff(options.minBackoffMs, random);
        this.outages = new OutageLog(options.logAgainMs);
        this.wake = wake;
    }

    /**
     * Sends what is queued, and then ends.
     *
     * @param byMs the latest time of the end, monotonic, ms.
     */
    void close(long byMs) {
        closeByMs = Math.min(closeByMs, byMs);
    }

    /** Asks the next step to send what is queued within {@link ExportOptions#liveLingerMs}. */
    void sendLive() {
        live = true;
    }

    /** Whether the exporter has ended, and sends nothing more. */
    boolean isDone() {
        return done;
    }

    /** Samples that the collector rejected, by reason. */
    Map<RejectionReason, Long> rejectedSamples() {
        return rejections.samples();
    }

    /**
     * Does what is due.
     *
     * @return the time until something is due again, ms, unless woken before.
     */
    long step() {
        long now = time.monotonicMs();
        outbox.expire(now);
        if (current != null) {
            receive(now);
        }
        tryReturn(now);
        if (current == null && now >= retryAtMs && !(isClosing() && outbox.isEmpty())) {
            openStream(now);
        }
        if (current != null) {
            sendOrTimeOut(now);
        }
        if (isClosing()) {
            finishClosing(now);
        }
        return done ? 0 : untilDue(now);
    }

    /** Restarts after an unexpected failure, with a pause. */
    void recover() {
        abandonStreams("failed");
        retryAtMs = time.monotonicMs() + options.maxBackoffMs;
    }

    private boolean isClosing() {
        return closeByMs != NEVER;
    }

    private void openStream(long now) {
        current = stream(route.next(), timedOut ? options.longOpenTimeoutMs : options.openTimeoutMs, now);
        beginStream();
    }

    private LiveStream stream(int place, long openTimeoutMs, long now) {
        Open by = open.toBuilder().setEpoch(outbox.epoch()).setGeneration(route.offer(place)).build();
        return new LiveStream(transport, route.address(place), place, by, new Inbox(wake, time), now, openTimeoutMs);
    }

    /** Resets the state of the stream, on which nothing was sent yet. */
    private void beginStream() {
        outbox.beginStream();
        transferState.beginStream();
    }

    private void receive(long now) {
        while (current != null) {
            ExportResponse answer = current.poll(now);
            if (answer == null) {
                if (current.inbox.end() != null) {
                    streamEnded(current.inbox.end(), now);
                }
                return;
            }
            String wrong = current.isTalkative() ? "it sends unsolicited messages" : handle(answer, now);
            if (wrong != null) {
                streamEnded(StreamEnd.lost(wrong), now);
            }
        }
    }

    /** Handles an answer. Returns what is wrong with it, or null. */
    private String handle(ExportResponse answer, long now) {
        MessageCase kind = answer.getMessageCase();
        if (kind == MessageCase.OPENED && !current.opened) {
            opened(answer.getOpened(), now);
        } else if (kind == MessageCase.ACKNOWLEDGEMENT && current.opened) {
            acknowledged(answer.getAcknowledgement(), now);
        } else if (kind == MessageCase.FULL && current.opened) {
            full(answer.getFull(), now);
        } else if (kind == MessageCase.STATE && current.givesStates) {
            return state(answer.getState(), now);
        } else {
            return "protocol error: unexpected message " + kind + (current.opened ? "" : " before OPENED");
        }
        return null;
    }

    private void opened(Opened answer, long now) {
        current.opened(answer, options, now);
        boolean fresh = route.opened(current.place, current.generation, answer.getGivesStates(),
                answer.getWantsState(), now);
        if (!fresh && answer.getGivesStates() && !answer.getWantsState()
                && answer.getTakenSequence() < transferState.sequence()) {
            // It lacks batches that are in the state, and would continue without them. With a new generation it asks
            // for the state.
            route.endGeneration();
            abandonStreams("the collector has fewer batches than the transferred state");
            return;
        }
        outbox.opened(answer.getTakesBlocks(), answer.getGivesStates(), fresh ? 0 : answer.getTakenSequence());
        if (answer.getWantsState()) {
            current.sendState(transferState, outbox.epoch());
            // If something was not understood, the state is sent first, to find out whether it is the cause.
            current.headStartMs = isProbing() && !transferState.isEmpty() ? STATE_HEAD_START_MS : 0;
        }
    }

    private void acknowledged(Acknowledgement answer, long now) {
        if (outbox.epoch().equals(answer.getEpoch()) && acknowledgedUpTo(answer.getSequence(), now)) {
            rejections.rejected(answer.getRejectionsList());
        }
    }

    /** Records that the batches up to a sequence are acknowledged. Returns whether that was not known. */
    private boolean acknowledgedUpTo(long sequence, long now) {
        if (!outbox.acknowledge(sequence)) {
            return false;
        }
        current.progressed = true;
        timedOut = false;
        stateSuspected = false;
        current.deadlineMs = now + options.answerTimeoutMs;
        current.allowed = Math.min(options.maxWindow, current.allowed * 2);
        if (isSteady(now)) {
            backoff.reset();
        }
        if (outages.recovered(current.address, now)) {
            outbox.note(outages.note(open, now, time.wallMs()));
        }
        return true;
    }

    private boolean isSteady(long now) {
        return current.progressed && now - current.beganMs >= options.steadyMs;
    }

    /** Handles a part of a state. Returns what is wrong with it, or null. */
    private String state(State part, long now) {
        if (!outbox.epoch().equals(part.getEpoch())) {
            return null;
        }
        String wrong = transferState.add(part);
        if (wrong != null || !part.getLast()) {
            return wrong;
        }
        long upTo = part.getSequence();
        if (transferState.replaces(upTo) && outbox.wasSent(upTo)) {
            acknowledgedUpTo(upTo, now);
            outbox.releaseUpTo(upTo);
            transferState.complete();
        } else {
            transferState.beginStream();
        }
        return null;
    }

    private void full(Full answer, long now) {
        if (outbox.epoch().equals(answer.getEpoch()) && outbox.resendFrom(answer.getSequence())) {
            current.allowed = options.firstWindow;
            current.fullUntilMs = now + Math.max(backoff.nextMs(options.maxBackoffMs),
                    pause(answer.getRetryAfterMs() & 0xffff_ffffL));
            current.deadlineMs = current.fullUntilMs + options.answerTimeoutMs;
        }
    }

    private long pause(long retryAfterMs) {
        return Math.min(Math.max(retryAfterMs, options.minBackoffMs), options.maxRetryAfterMs);
    }

    /** While another address than the first is used: tries to open a stream to the first. */
    private void tryReturn(long now) {
        if (returning == null) {
            if (current != null && current.opened && now >= route.returnAtMs() && !isClosing()) {
                returning = stream(0, options.openTimeoutMs, now);
            }
            return;
        }
        if (isClosing()) {
            endReturning("closed");
            return;
        }
        ExportResponse answer = returning.poll(now);
        if (answer != null && answer.getOpened().getGivesStates()) {
            moveBack(answer.getOpened(), now);
        } else if (answer != null || returning.inbox.end() != null || now >= returning.deadlineMs) {
            endReturning("the first collector is not available");
            route.notReturned(now);
        }
    }

    private void moveBack(Opened answer, long now) {
        Address from = current.address;
        current.stream.cancel("moved back to the first collector");
        current = returning;
        returning = null;
        beginStream();
        opened(answer, now);
        route.returned(now);
        LOG.info("bullet-metrics: Moved from the collector at {} back to the one at {}, which is available again.", from,
                current.address);
    }

    private void endReturning(String why) {
        if (returning != null) {
            returning.stream.cancel(why);
            returning = null;
        }
    }

    /** Checks the deadline of the current stream, and sends what may be sent on it. */
    private void sendOrTimeOut(long now) {
        if (now >= current.deadlineMs && !current.opened) {
            timedOut = true;
            streamEnded(StreamEnd.lost("no answer within " + current.openTimeoutMs + " ms"), now);
        } else if (now >= current.deadlineMs && isAwaited()) {
            streamEnded(StreamEnd.lost("no answer to a batch within " + options.answerTimeoutMs + " ms"), now);
        } else if (current.opened && now >= current.fullUntilMs) {
            send(now);
        }
    }

    /** Whether the collector has something to answer or to read. */
    private boolean isAwaited() {
        return !current.opened || outbox.inFlight() > 0 || current.isTransferring();
    }

    private void send(long now) {
        Inbox.Answered answered = current.inbox.answered();
        if (answered != null) {
            outbox.answered(answered.receivedMs, answered.sentMs);
        }
        if (isClosing()) {
            outbox.close(); // announces the end, only to a connected collector
        }
        boolean flush = isClosing() || now - flushedMs >= linger();
        while (current.stream.isReady()) {
            boolean idle = outbox.inFlight() == 0;
            if (current.isTransferring()) {
                current.sendState();
                current.fullUntilMs = now + current.headStartMs;
            } else if (now < current.fullUntilMs) {
                return;
            } else {
                int window = isProbing() ? 1 : Math.min(current.allowed, current.window);
                Batch batch = outbox.next(window, current.maxBatchBytes, flush, now, time.wallMs());
                if (batch == null) {
                    if (flush && outbox.inFlight() < window) {
                        flushedMs = now;
                        live = false;
                    }
                    return;
                }
                current.sendBatch(batch);
            }
            if (idle) {
                current.deadlineMs = now + options.answerTimeoutMs;
            }
        }
    }

    private long linger() {
        return live ? options.liveLingerMs : options.lingerMs;
    }

    private boolean isProbing() {
        return outbox.firstUnacknowledged() > 0 && outbox.firstUnacknowledged() <= probeUpTo;
    }

    private void streamEnded(StreamEnd end, long now) {
        LiveStream lost = current;
        boolean steady = isSteady(now);
        abandonStreams(end.message());
        if (end.kind() == StreamEnd.Kind.NOT_UNDERSTOOD) {
            suspect(lost);
        }
        if (isClosing() && lost.finishing) {
            return;
        }
        outages.failed(lost.address, end, outbox.samples(), now);
        brokeEarly |= end.kind() != StreamEnd.Kind.UNREACHABLE && now - lost.beganMs < options.openTimeoutMs;
        boolean pauses = route.failed(lost.progressed, steady, now);
        retryAtMs = now + (pauses ? pauseAfter(end) : 0);
    }

    private void abandonStreams(String why) {
        endReturning(why);
        if (current != null) {
            current.stream.cancel(why);
            current = null;
        }
    }

    private void suspect(LiveStream lost) {
        long first = outbox.inFlight() > 0 ? outbox.firstUnacknowledged() : 0;
        if (first == 0 && lost.sentState && !lost.progressed) {
            suspectState();
            return;
        }
        if (first > 0 && first == suspect && isProbing()) {
            outbox.abandonFirst(DropReason.DROP_REASON_INTERNAL);
        }
        suspect = first;
        probeUpTo = Math.max(probeUpTo, outbox.lastInFlight());
    }

    private void suspectState() {
        if (stateSuspected) {
            transferState.clear();
            LOG.warn("bullet-metrics: Discarded the transferred state of this topology, because a collector rejected it twice. Its counters restart from zero.");
        }
        stateSuspected = !stateSuspected;
    }

    private long pauseAfter(StreamEnd end) {
        boolean personMustAct = end.kind() == StreamEnd.Kind.DENIED || end.kind() == StreamEnd.Kind.NOT_UNDERSTOOD;
        long longest = brokeEarly ? options.maxBrokenBackoffMs : options.maxBackoffMs;
        brokeEarly = false;
        if (end.retryAfterMs() > 0) {
            return pause(end.retryAfterMs());
        }
        return personMustAct ? options.deniedPauseMs : backoff.nextMs(longest);
    }

    private void finishClosing(long now) {
        boolean drained = outbox.isEmpty();
        if (drained && current != null && current.opened && !current.finishing && now < closeByMs) {
            current.finishing = true;
            current.stream.finish();
            return;
        }
        if (drained && !(current != null && current.finishing) || now >= closeByMs) {
            abandonStreams("closed");
            outbox.abandonAll(DropReason.DROP_REASON_CLOSED);
            done = true;
        }
    }

    private long untilDue(long now) {
        long due = now + options.lingerMs;
        if (current == null) {
            due = Math.min(due, retryAtMs);
        } else {
            due = Math.min(due, isAwaited() ? current.deadlineMs : NEVER);
            due = Math.min(due, current.fullUntilMs > now ? current.fullUntilMs : NEVER);
            due = Math.min(due, flushedMs + linger() > now ? flushedMs + linger() : NEVER);
        }
        return Math.max(1, Math.min(due, closeByMs) - now);
    }
}
