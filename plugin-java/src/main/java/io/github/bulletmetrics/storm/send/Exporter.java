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
    /** How long batches wait behind a state of which it must be known whether it is understood, ms. */
    private static final long STATE_ALONE_MS = 2_000;

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
    private boolean done;
    /** Whether an attempt to open timed out since the last progress. */
    private boolean timedOut;
    /** Whether in this round of addresses somebody answered and soon broke off. */
    private boolean brokenOff;

    /** Null when there is none. */
    private LiveStream current;
    /** Beside it, to the first address, not yet open; null when there is none. */
    private LiveStream returning;

    // After a stream that was not understood.
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
     * Asks to bring out what is queued and then to end.
     *
     * @param byMs when to end at the latest, monotonic, ms.
     */
    void close(long byMs) {
        closeByMs = Math.min(closeByMs, byMs);
    }

    /** Whether the end was reached: nothing more is sent. */
    boolean isDone() {
        return done;
    }

    /** Samples that the collector refused for ever, by reason. */
    Map<RejectionReason, Long> rejectedSamples() {
        return rejections.samples();
    }

    /**
     * Does what is due.
     *
     * @return how long until something is due again, ms, unless woken before.
     */
    long step() {
        long now = time.monotonicMs();
        outbox.expire(now);
        if (current != null) {
            hear(now);
        }
        lookForReturn(now);
        if (current == null && now >= retryAtMs && !(isClosing() && outbox.isEmpty())) {
            begin(now);
        }
        if (current != null) {
            drive(now);
        }
        if (isClosing()) {
            endWhenThrough(now);
        }
        return done ? 0 : untilDue(now);
    }

    /** Starts afresh a while after a failure of its own. */
    void recover() {
        abandonStreams("failed");
        retryAtMs = time.monotonicMs() + options.maxBackoffMs;
    }

    private boolean isClosing() {
        return closeByMs != NEVER;
    }

    private void begin(long now) {
        current = stream(route.next(), timedOut ? options.patientOpenTimeoutMs : options.openTimeoutMs, now);
        beginOn();
    }

    private LiveStream stream(int place, long openTimeoutMs, long now) {
        Open by = open.toBuilder().setEpoch(outbox.epoch()).setGeneration(route.offer(place)).build();
        return new LiveStream(transport, route.address(place), place, by, new Inbox(wake, time), now, openTimeoutMs);
    }

    /** Nothing was sent on the current stream yet. */
    private void beginOn() {
        outbox.beginStream();
        transferState.beginStream();
    }

    private void hear(long now) {
        while (current != null) {
            ExportResponse answer = current.poll(now);
            if (answer == null) {
                if (current.inbox.end() != null) {
                    lose(current.inbox.end(), now);
                }
                return;
            }
            String wrong = current.isTalkative() ? "it sends unsolicited messages" : understand(answer, now);
            if (wrong != null) {
                lose(StreamEnd.lost(wrong), now);
            }
        }
    }

    /** What is wrong with an answer; null where nothing is. */
    private String understand(ExportResponse answer, long now) {
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
            // It has less than went into the state, and would go on without: it takes that under a new generation.
            route.spend();
            abandonStreams("the collector has fewer batches than the transferred state");
            return;
        }
        outbox.opened(answer.getTakesBlocks(), answer.getGivesStates(), fresh ? 0 : answer.getTakenSequence());
        if (answer.getWantsState()) {
            current.sendState(transferState, outbox.epoch());
            // Where something is not understood the state goes alone first, so that it is known whether it is at fault.
            current.aloneMs = isProbing() && !transferState.isEmpty() ? STATE_ALONE_MS : 0;
        }
    }

    private void acknowledged(Acknowledgement answer, long now) {
        if (outbox.epoch().equals(answer.getEpoch()) && taken(answer.getSequence(), now)) {
            rejections.rejected(answer.getRejectionsList());
        }
    }

    /** Whether it was news that the batches up to a sequence are taken. */
    private boolean taken(long sequence, long now) {
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
        if (outages.well(current.address, now)) {
            outbox.note(outages.note(open, now, time.wallMs()));
        }
        return true;
    }

    private boolean isSteady(long now) {
        return current.progressed && now - current.beganMs >= options.steadyMs;
    }

    /** What is wrong with a part of a state; null where nothing is. */
    private String state(State part, long now) {
        if (!outbox.epoch().equals(part.getEpoch())) {
            return null;
        }
        String wrong = transferState.add(part);
        if (wrong != null || !part.getLast()) {
            return wrong;
        }
        long upTo = part.getSequence();
        if (transferState.isNews(upTo) && outbox.wasSent(upTo)) {
            taken(upTo, now);
            outbox.letGoUpTo(upTo);
            transferState.keep();
        } else {
            transferState.beginStream();
        }
        return null;
    }

    private void full(Full answer, long now) {
        if (outbox.epoch().equals(answer.getEpoch()) && outbox.goBackTo(answer.getSequence())) {
            current.allowed = options.firstWindow;
            current.fullUntilMs = now + Math.max(backoff.nextMs(options.maxBackoffMs),
                    pause(answer.getRetryAfterMs() & 0xffff_ffffL));
            current.deadlineMs = current.fullUntilMs + options.answerTimeoutMs;
        }
    }

    private long pause(long retryAfterMs) {
        return Math.min(Math.max(retryAfterMs, options.minBackoffMs), options.maxRetryAfterMs);
    }

    /** Away from the first address: whether the collector there opens a stream again. */
    private void lookForReturn(long now) {
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
        beginOn();
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

    /** The current stream: its deadline, and what may be sent on it. */
    private void drive(long now) {
        if (now >= current.deadlineMs && !current.opened) {
            timedOut = true;
            lose(StreamEnd.lost("no answer within " + current.openTimeoutMs + " ms"), now);
        } else if (now >= current.deadlineMs && isAwaited()) {
            lose(StreamEnd.lost("no answer to a batch within " + options.answerTimeoutMs + " ms"), now);
        } else if (current.opened && now >= current.fullUntilMs) {
            send(now);
        }
    }

    /** Whether the collector has something to answer or to read. */
    private boolean isAwaited() {
        return !current.opened || outbox.underWay() > 0 || current.isHandingOver();
    }

    private void send(long now) {
        Inbox.Answered answered = current.inbox.answered();
        if (answered != null) {
            outbox.answered(answered.cameMs, answered.sentMs);
        }
        if (isClosing()) {
            outbox.close(); // announces the end to a connected collector; no other is tried for that
        }
        boolean flush = isClosing() || now - flushedMs >= options.lingerMs;
        while (current.stream.isReady()) {
            boolean idle = outbox.underWay() == 0;
            if (current.isHandingOver()) {
                current.sendState();
                current.fullUntilMs = now + current.aloneMs;
            } else if (now < current.fullUntilMs) {
                return;
            } else {
                Batch batch = outbox.next(isProbing() ? 1 : Math.min(current.allowed, current.window),
                        current.maxBatchBytes, flush, now, time.wallMs());
                if (batch == null) {
                    flushedMs = flush ? now : flushedMs;
                    return;
                }
                current.sendBatch(batch);
            }
            if (idle) {
                current.deadlineMs = now + options.answerTimeoutMs;
            }
        }
    }

    private boolean isProbing() {
        return outbox.firstHeld() > 0 && outbox.firstHeld() <= probeUpTo;
    }

    private void lose(StreamEnd end, long now) {
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
        brokenOff |= end.kind() != StreamEnd.Kind.UNREACHABLE && now - lost.beganMs < options.openTimeoutMs;
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
        long first = outbox.underWay() > 0 ? outbox.firstHeld() : 0;
        if (first == 0 && lost.broughtState && !lost.progressed) {
            suspectState();
            return;
        }
        if (first > 0 && first == suspect && isProbing()) {
            outbox.abandonFirst(DropReason.DROP_REASON_INTERNAL);
        }
        suspect = first;
        probeUpTo = Math.max(probeUpTo, outbox.lastUnderWay());
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
        long longest = brokenOff ? options.maxBrokenBackoffMs : options.maxBackoffMs;
        brokenOff = false;
        if (end.retryAfterMs() > 0) {
            return pause(end.retryAfterMs());
        }
        return personMustAct ? options.deniedPauseMs : backoff.nextMs(longest);
    }

    private void endWhenThrough(long now) {
        boolean through = outbox.isEmpty();
        if (through && current != null && current.opened && !current.finishing && now < closeByMs) {
            current.finishing = true;
            current.stream.finish();
            return;
        }
        if (through && !(current != null && current.finishing) || now >= closeByMs) {
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
            due = Math.min(due, flushedMs + options.lingerMs > now ? flushedMs + options.lingerMs : NEVER);
        }
        return Math.max(1, Math.min(due, closeByMs) - now);
    }
}
