package io.github.bulletmetrics.storm.send;

import com.google.protobuf.ByteString;
import io.github.bulletmetrics.storm.proto.v1.Annotation;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.Clocks;
import io.github.bulletmetrics.storm.proto.v1.Drop;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.github.bulletmetrics.storm.proto.v1.WorkerClock;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Workers;
import java.util.ArrayList;
import java.util.List;

/**
 * Cuts the queue into batches and holds them until they are acknowledged or too old. If the collector sends states, it
 * holds them until a state covers them. It also tracks the current stream. The first {@code taken} of the held batches
 * are in the collector's journal, and those after them, up to {@code sent}, are in flight. It uses no network and no
 * clock. Not thread-safe.
 */
final class Outbox {
    /** Workers announced in one batch at most: with their tasks about 100 KiB. The others follow in the next. */
    private static final int WORKERS_PER_BATCH = 1_000;

    private final SampleQueue queue;
    private final Losses losses;
    private final Workers workers;
    private final TopologyInfo topology;
    private final ExportOptions options;
    private final BatchEncoder encoder;
    private final BatchCutter cutter;
    private final ArrivalLog arrivals = new ArrivalLog();

    private final List<HeldBatch> held = new ArrayList<>();
    private int taken;
    private int sent;
    private boolean givesStates;
    /** What was abandoned of taken batches, up to a sequence: lost if the sender moves before a state has it. */
    private Losses entrusted = new Losses();
    private long entrustedUpTo;
    private long cutTo;
    private long lastSequence;

    private boolean topologyAnnounced;
    private long workersAnnounced;
    private long lossesAnnounced;

    /**
     * When the newest acknowledgement came, by our clock, and was sent, by the collector's; 0 before the first that
     * states it.
     */
    private long acknowledgedMs;
    private long acknowledgementSentMs;

    /** What is to be noted on the time axis with the next batch; null where that is nothing. */
    private Annotation note;

    /** Whether the end must be announced to the collector, and whether a batch announces it. */
    private boolean closing;
    private boolean closingAnnounced;

    Outbox(byte[] epoch, SampleQueue queue, Losses losses, Workers workers, TopologyInfo topology,
            ExportOptions options) {
        this.queue = queue;
        this.losses = losses;
        this.workers = workers;
        this.topology = topology;
        this.options = options;
        this.encoder = new BatchEncoder(epoch, queue);
        this.cutter = new BatchCutter(queue, options.batchSamples);
    }

    /**
     * A new stream: nothing is under way on it, nothing defined, and the topology must be described on it. Until it is
     * open, what the collector before has in its journal counts as taken.
     */
    void beginStream() {
        sent = taken;
        encoder.beginStream();
        announceAll();
    }

    /**
     * The stream is open.
     *
     * @param states whether the collector gives states, so that acknowledged batches are held on.
     * @param takenUpTo the last batch that is in its journal; 0 where none is.
     */
    void opened(boolean takesBlocks, boolean states, long takenUpTo) {
        encoder.takesBlocks(takesBlocks);
        givesStates = states;
        long inJournal = states ? takenUpTo : 0;
        taken = heldUpTo(inJournal, held.size());
        sent = taken;
        if (entrustedUpTo > inJournal) {
            countEntrusted();
        }
    }

    /** How many of the first {@code among} held batches have sequences up to one. */
    private int heldUpTo(long sequence, int among) {
        int count = 0;
        while (count < among && held.get(count).sequence <= sequence) {
            count++;
        }
        return count;
    }

    private void announceAll() {
        topologyAnnounced = false;
        workersAnnounced = 0;
        lossesAnnounced = 0;
    }

    /**
     * The next batch for this stream, which the caller sends.
     *
     * @param window how many may be under way.
     * @param maxBatchBytes the largest batch that the collector takes.
     * @param flush whether to cut a batch even where it is not full.
     * @return null when there is none.
     */
    Batch next(int window, int maxBatchBytes, boolean flush, long nowMs, long wallMs) {
        if (underWay() >= window) {
            return null;
        }
        if (sent == held.size()) {
            if (!isDue(flush)) {
                return null;
            }
            cut(Math.min(options.batchBytes, maxBatchBytes / 2), nowMs);
        }
        HeldBatch batch = held.get(sent++);
        return encoder.encode(batch, held.get(taken).sequence, wallMs, clocks());
    }

    /** What was read of clocks since the last batch; null where that is nothing. */
    private Clocks clocks() {
        List<WorkerClock> read = workers.takeClocks();
        if (read.isEmpty() && acknowledgedMs == 0) {
            return null;
        }
        return Clocks.newBuilder().setAcknowledgedTimeMs(acknowledgedMs)
                .setAcknowledgementSentTimeMs(acknowledgementSentMs).addAllWorkers(read).build();
    }

    /** An acknowledgement came, with the time at which it was sent, by the collector's clock. */
    void answered(long cameMs, long sentMs) {
        acknowledgedMs = cameMs;
        acknowledgementSentMs = sentMs;
    }

    /** Has the next batch that is cut bring a note; the newest takes the place of one that still waits. */
    void note(Annotation newest) {
        note = newest;
    }

    /** Lets the last batch say that it is the last: Storm closes the consumer. */
    void close() {
        closing = true;
    }

    private boolean isDue(boolean flush) {
        long waiting = queue.published() - cutTo;
        return waiting >= options.batchSamples || flush && (waiting > 0 || hasNews());
    }

    private boolean hasNews() {
        return !topologyAnnounced || isClosingUnsaid() || workers.version() > workersAnnounced
                || losses.total() != lossesAnnounced;
    }

    private boolean isClosingUnsaid() {
        return closing && !closingAnnounced;
    }

    private void cut(int maxBytes, long nowMs) {
        HeldBatch batch = new HeldBatch(++lastSequence, cutTo, cutter.end(cutTo, maxBytes), nowMs);
        cutTo = batch.to;
        held.add(batch);
        announce(batch);
        if (isClosingUnsaid() && cutTo == queue.published()) {
            batch.closing = true;
            closingAnnounced = true;
        }
    }

    private void announce(HeldBatch batch) {
        if (!topologyAnnounced) {
            batch.topology = topology;
            topologyAnnounced = true;
        }
        if (workers.version() > workersAnnounced) {
            Workers.Changes changes = workers.changedSince(workersAnnounced, WORKERS_PER_BATCH);
            batch.workers = changes.workers();
            workersAnnounced = changes.version();
        }
        if (losses.total() != lossesAnnounced) {
            lossesAnnounced = losses.total();
            batch.drops = losses.drops();
            batch.gaps = losses.takeGaps();
        }
        batch.note = note;
        note = null;
    }

    /**
     * What was sent on this stream up to a sequence is durable.
     *
     * @return whether that was news.
     */
    boolean acknowledge(long sequence) {
        int before = taken;
        while (taken < sent && held.get(taken).sequence <= sequence) {
            taken++;
        }
        boolean news = taken > before;
        if (!givesStates) {
            letGo(taken);
        }
        return news;
    }

    /** Whether the batches up to a sequence were sent to this collector, or are not held any more. */
    boolean wasSent(long sequence) {
        if (sent > 0) {
            return sequence <= held.get(sent - 1).sequence;
        }
        return sequence < (held.isEmpty() ? lastSequence + 1 : held.get(0).sequence);
    }

    /** A state has the batches up to a sequence, all sent: they need not be held any more. */
    void letGoUpTo(long sequence) {
        letGo(heldUpTo(sequence, sent));
        if (sequence >= entrustedUpTo) {
            entrusted = new Losses();
            entrustedUpTo = 0;
        }
    }

    private void letGo(int count) {
        held.subList(0, count).clear();
        sent -= count;
        taken = Math.max(0, taken - count);
        release();
    }

    /**
     * The batch of that sequence and those after it were not taken: they are to be sent again.
     *
     * @return whether any of them was under way.
     */
    boolean goBackTo(long sequence) {
        int before = sent;
        while (sent > taken && held.get(sent - 1).sequence >= sequence) {
            encoder.undefine(held.get(--sent));
        }
        return sent < before;
    }

    /** Notes what has come, and abandons what has been here too long. */
    void expire(long nowMs) {
        arrivals.note(queue.published(), nowMs);
        long expired = arrivals.arrivedBy(nowMs - options.keepMs);
        while (!held.isEmpty() && isExpired(held.get(0), expired, nowMs)) {
            abandon(0, DropReason.DROP_REASON_EXPIRED);
        }
        while (taken > 0 && queue.isNearlyFull()) {
            // New samples have nobody but this queue; those that are taken have the collector's journal.
            abandon(0, DropReason.DROP_REASON_QUEUE_FULL);
        }
        if (held.isEmpty() && expired > cutTo) {
            countLost(losses, DropReason.DROP_REASON_EXPIRED, cutTo, expired);
            cutTo = expired;
        }
        release();
    }

    private boolean isExpired(HeldBatch batch, long expired, long nowMs) {
        return batch.samples() > 0 ? batch.to <= expired : nowMs - batch.cutMs >= options.keepMs;
    }

    /** Gives the oldest batch up that is not taken. */
    void abandonFirst(DropReason reason) {
        abandon(taken, reason);
    }

    private void abandon(int index, DropReason reason) {
        HeldBatch batch = held.remove(index);
        boolean inJournal = index < taken;
        if (inJournal) {
            taken--;
            sent--;
            entrustedUpTo = batch.sequence;
        } else if (index < sent) {
            sent--;
            // It may never have been taken, and with it the definitions that later batches rest on.
            encoder.forgetDefinitions();
        }
        Losses into = inJournal ? entrusted : losses;
        countLost(into, reason, batch.from, batch.to);
        into.putBack(batch.gaps);
        if (!inJournal) {
            note = note == null ? batch.note : note;
            if (batch.announces()) {
                announceAll();
            }
        }
        release();
    }

    /** What only the collector before had, which no state has: to this one it is lost. */
    private void countEntrusted() {
        for (Drop drop : entrusted.drops()) {
            losses.dropped(drop.getReason(), drop.getTotalSamples());
        }
        losses.putBack(entrusted.takeGaps());
        entrusted = new Losses();
        entrustedUpTo = 0;
    }

    /** Abandons everything, at the end. What is taken is the collector's. */
    void abandonAll(DropReason reason) {
        long from = taken < held.size() ? held.get(taken).from : cutTo;
        held.clear();
        taken = 0;
        sent = 0;
        closing = false;
        cutTo = queue.published();
        countLost(losses, reason, from, cutTo);
        release();
    }

    private void countLost(Losses into, DropReason reason, long from, long to) {
        if (from == to) {
            return;
        }
        long firstMs = Long.MAX_VALUE;
        long lastMs = Long.MIN_VALUE;
        long position = from;
        for (long block = queue.block(from); position < to; block++) {
            firstMs = Math.min(firstMs, queue.firstMs(block));
            lastMs = Math.max(lastMs, queue.lastMs(block));
            position = queue.end(block);
        }
        into.droppedBetween(reason, to - from, firstMs, lastMs);
    }

    private void release() {
        queue.release(held.isEmpty() ? cutTo : held.get(0).from);
    }

    /** This sender's, on every batch. */
    ByteString epoch() {
        return encoder.epoch();
    }

    /** Batches under way on this stream. */
    int underWay() {
        return sent - taken;
    }

    /** The sequence of the oldest batch that is not taken; 0 where all are. */
    long firstHeld() {
        return taken == held.size() ? 0 : held.get(taken).sequence;
    }

    /** The sequence of the last batch under way on this stream; 0 when none is. */
    long lastUnderWay() {
        return underWay() == 0 ? 0 : held.get(sent - 1).sequence;
    }

    /** Whether nothing waits to be sent or taken. */
    boolean isEmpty() {
        return taken == held.size() && queue.published() == cutTo && !isClosingUnsaid();
    }

    /** Samples that wait, are under way, or are in no state yet. */
    long samples() {
        return queue.published() - queue.released();
    }
}
