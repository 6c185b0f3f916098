package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.proto.v1.Acknowledgement;
import io.github.bulletmetrics.storm.proto.v1.Annotation;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Full;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.Opened;
import io.github.bulletmetrics.storm.proto.v1.RejectionReason;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * Decides what is sent, where and when: one {@link #step} does all that is due. One thread, no waiting, no clock but
 * the one that it is given.
 *
 * <p>Addresses are tried in order, from the first again after a stream that made progress; a round of failures is
 * followed by a pause, a longer one where streams broke off than where nobody was there. A stream has a time to open,
 * and batches under way have a time to be answered. After "full" the refused batches are sent again on the same stream,
 * after a broken stream on the next. When a stream was not understood, one batch at a time is sent until what was under
 * way is through, so that the batch at fault is known; when that is refused again it is abandoned.
 */
final class Exporter {
    private static final int DEFAULT_MAX_BATCH_BYTES = 1 << 20;
    private static final long NEVER = Long.MAX_VALUE;
    /** Answers of one stream that nothing was asked for: beyond it the collector costs the worker's CPU to no end. */
    static final int MAX_UNASKED_ANSWERS = 64;
    /** A third and less of what the schema has as bytes, since a character takes up to three. */
    private static final int MAX_ID_CHARACTERS = 40;
    private static final int MAX_TITLE_CHARACTERS = 80;
    private static final int MAX_TEXT_CHARACTERS = 2_000;

    private final Outbox outbox;
    private final Transport transport;
    private final List<Address> addresses;
    private final Open open;
    private final ExportOptions options;
    private final TimeSource time;
    private final Backoff backoff;
    private final Runnable wake;
    private final OutageLog outages;
    private final RejectionLog rejections = new RejectionLog();

    private int addressIndex;
    private long retryAtMs = Long.MIN_VALUE;
    private long flushedMs = Long.MIN_VALUE / 2;
    private long closeByMs = NEVER;
    private boolean done;
    /** Whether an attempt to open timed out since the last progress. */
    private boolean timedOut;
    /** Whether in this round of addresses somebody answered and soon broke off. */
    private boolean brokenOff;

    // Of the current stream; inbox is null when there is none.
    private Inbox inbox;
    private Transport.Stream stream;
    private boolean opened;
    private boolean progressed;
    private boolean finishing;
    private long beganMs;
    private int window;
    private int allowed;
    private int maxBatchBytes;
    private long openTimeoutMs;
    private long deadlineMs;
    private long fullUntilMs;
    /** Answers that the collector may still give. */
    private long answersLeft;

    // After a stream that was not understood.
    private long probeUpTo;
    private long suspect;

    /**
     * @param wake called by the transport's threads when a step may be due.
     */
    Exporter(Outbox outbox, Transport transport, List<Address> addresses, Open open, ExportOptions options,
            TimeSource time, Random random,
            Runnable wake) {
        this.outbox = outbox;
        this.transport = transport;
        this.addresses = addresses;
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
        if (inbox != null) {
            hear(now);
        }
        if (inbox == null && now >= retryAtMs && !(isClosing() && outbox.isEmpty())) {
            begin(now);
        }
        if (inbox != null) {
            drive(now);
        }
        if (isClosing()) {
            endWhenThrough(now);
        }
        return done ? 0 : untilDue(now);
    }

    /** Starts afresh a while after a failure of its own. */
    void recover() {
        abandonStream("failed");
        retryAtMs = time.monotonicMs() + options.maxBackoffMs;
    }

    private boolean isClosing() {
        return closeByMs != NEVER;
    }

    private void begin(long now) {
        outbox.beginStream();
        inbox = new Inbox(wake, time);
        opened = false;
        progressed = false;
        finishing = false;
        fullUntilMs = Long.MIN_VALUE;
        beganMs = now;
        allowed = options.firstWindow;
        answersLeft = MAX_UNASKED_ANSWERS;
        openTimeoutMs = timedOut ? options.patientOpenTimeoutMs : options.openTimeoutMs;
        deadlineMs = now + openTimeoutMs;
        stream = transport.open(addresses.get(addressIndex), open, inbox);
    }

    private void hear(long now) {
        for (ExportResponse response = inbox.poll(); response != null; response = inbox.poll()) {
            if (--answersLeft < 0) {
                lose(StreamEnd.lost("it answers more often than it is asked"), now);
                return;
            }
            if (!understand(response, now)) {
                lose(StreamEnd.lost("it does not speak the protocol: " + response.getMessageCase() + (opened ? ""
                        : " before OPENED")), now);
                return;
            }
        }
        if (inbox.end() != null) {
            lose(inbox.end(), now);
        }
    }

    private boolean understand(ExportResponse response, long now) {
        switch (response.getMessageCase()) {
            case OPENED:
                return !opened && opened(response.getOpened(), now);
            case ACKNOWLEDGEMENT:
                return opened && acknowledged(response.getAcknowledgement(), now);
            case FULL:
                return opened && full(response.getFull(), now);
            default:
                return false;
        }
    }

    private boolean opened(Opened answer, long now) {
        opened = true;
        window = Math.max(1, (int) Math.min(options.maxWindow, answer.getWindow() & 0xffff_ffffL));
        outbox.takesBlocks(answer.getTakesBlocks());
        int offered = answer.getMaxBatchBytes();
        maxBatchBytes = offered > 0 ? offered : offered == 0 ? DEFAULT_MAX_BATCH_BYTES : Integer.MAX_VALUE;
        deadlineMs = now + options.answerTimeoutMs;
        return true;
    }

    private boolean acknowledged(Acknowledgement answer, long now) {
        if (!outbox.isEpoch(answer.getEpoch())) {
            return true;
        }
        if (outbox.acknowledge(answer.getSequence())) {
            rejections.rejected(answer.getRejectionsList());
            progressed = true;
            timedOut = false;
            deadlineMs = now + options.answerTimeoutMs;
            allowed = Math.min(options.maxWindow, allowed * 2);
            if (now - beganMs >= options.steadyMs) {
                backoff.reset();
            }
            if (outages.well(addresses.get(addressIndex), now)) {
                outbox.note(outage(now));
            }
        }
        return true;
    }

    /**
     * What went wrong until now, for the collector: whoever looks for it there need not find the worker whose log has
     * it. One of a sender takes the place of that before.
     */
    private Annotation outage(long now) {
        long lastedMs = now - outages.sinceMs();
        long endMs = time.wallMs();
        String sender = open.getHost() + ":" + open.getPort();
        return Annotation.newBuilder()
                .setId(shortened("plugin-" + open.getTask() + "-" + sender, MAX_ID_CHARACTERS))
                .setTimeMs(endMs - lastedMs)
                .setEndTimeMs(endMs)
                .setTitle(shortened("Metrics did not reach the collector from " + sender + " for " + lastedMs / 1_000
                + " s", MAX_TITLE_CHARACTERS))
                .setText(shortened(outages.last(), MAX_TEXT_CHARACTERS))
                .addTags("plugin")
                .addTags("unreached")
                .build();
    }

    private static String shortened(String text, int characters) {
        return text.length() <= characters ? text : text.substring(0, characters);
    }

    private boolean full(Full answer, long now) {
        if (outbox.isEpoch(answer.getEpoch()) && outbox.goBackTo(answer.getSequence())) {
            allowed = options.firstWindow;
            fullUntilMs = now + Math.max(backoff.nextMs(options.maxBackoffMs),
                    pause(answer.getRetryAfterMs() & 0xffff_ffffL));
            deadlineMs = fullUntilMs + options.answerTimeoutMs;
        }
        return true;
    }

    private long pause(long retryAfterMs) {
        return Math.min(Math.max(retryAfterMs, options.minBackoffMs), options.maxRetryAfterMs);
    }

    /** The current stream: its deadline, and what may be sent on it. */
    private void drive(long now) {
        if (now >= deadlineMs && !opened) {
            timedOut = true;
            lose(StreamEnd.lost("no answer within " + openTimeoutMs + " ms"), now);
        } else if (now >= deadlineMs && outbox.underWay() > 0) {
            lose(StreamEnd.lost("no answer to a batch within " + options.answerTimeoutMs + " ms"), now);
        } else if (opened && now >= fullUntilMs) {
            send(now);
        }
    }

    private void send(long now) {
        Inbox.Answered answered = inbox.answered();
        if (answered != null) {
            outbox.answered(answered.cameMs, answered.sentMs);
        }
        if (isClosing()) {
            outbox.close(); // announces the end to a connected collector; no other is tried for that
        }
        boolean flush = isClosing() || now - flushedMs >= options.lingerMs;
        while (stream.isReady()) {
            boolean idle = outbox.underWay() == 0;
            Batch batch = outbox.next(isProbing() ? 1 : Math.min(allowed, window), maxBatchBytes, flush, now,
                    time.wallMs());
            if (batch == null) {
                flushedMs = flush ? now : flushedMs;
                return;
            }
            if (idle) {
                deadlineMs = now + options.answerTimeoutMs;
            }
            stream.send(batch);
            answersLeft++;
        }
    }

    private boolean isProbing() {
        return outbox.firstHeld() > 0 && outbox.firstHeld() <= probeUpTo;
    }

    private void lose(StreamEnd end, long now) {
        Address address = addresses.get(addressIndex);
        abandonStream(end.message());
        if (end.kind() == StreamEnd.Kind.NOT_UNDERSTOOD) {
            suspectBatch();
        }
        if (isClosing() && finishing) {
            return;
        }
        outages.failed(address, end, outbox.samples(), now);
        retryAtMs = now + pauseAfter(end, now);
    }

    private void abandonStream(String why) {
        if (inbox != null) {
            stream.cancel(why);
            inbox = null;
            stream = null;
        }
    }

    private void suspectBatch() {
        long first = outbox.underWay() > 0 ? outbox.firstHeld() : 0;
        if (first > 0 && first == suspect && isProbing()) {
            outbox.giveUpFirst(DropReason.DROP_REASON_INTERNAL);
        }
        suspect = first;
        probeUpTo = Math.max(probeUpTo, outbox.lastUnderWay());
    }

    private long pauseAfter(StreamEnd end, long now) {
        brokenOff |= end.kind() != StreamEnd.Kind.UNREACHABLE && now - beganMs < options.openTimeoutMs;
        boolean lastAddress = addressIndex == addresses.size() - 1;
        addressIndex = progressed || lastAddress ? 0 : addressIndex + 1;
        boolean personMustAct = end.kind() == StreamEnd.Kind.DENIED || end.kind() == StreamEnd.Kind.NOT_UNDERSTOOD;
        if (!progressed && !lastAddress) {
            return 0;
        }
        long longest = brokenOff ? options.maxBrokenBackoffMs : options.maxBackoffMs;
        brokenOff = false;
        if (end.retryAfterMs() > 0) {
            return pause(end.retryAfterMs());
        }
        return personMustAct ? options.deniedPauseMs : backoff.nextMs(longest);
    }

    private void endWhenThrough(long now) {
        boolean through = outbox.isEmpty();
        if (through && opened && inbox != null && !finishing && now < closeByMs) {
            finishing = true;
            stream.finish();
            return;
        }
        if (through && !(finishing && inbox != null) || now >= closeByMs) {
            abandonStream("closed");
            outbox.giveUpAll(DropReason.DROP_REASON_CLOSED);
            done = true;
        }
    }

    private long untilDue(long now) {
        long due = now + options.lingerMs;
        if (inbox == null) {
            due = Math.min(due, retryAtMs);
        } else {
            due = Math.min(due, !opened || outbox.underWay() > 0 ? deadlineMs : NEVER);
            due = Math.min(due, fullUntilMs > now ? fullUntilMs : NEVER);
            due = Math.min(due, flushedMs + options.lingerMs > now ? flushedMs + options.lingerMs : NEVER);
        }
        return Math.max(1, Math.min(due, closeByMs) - now);
    }
}
