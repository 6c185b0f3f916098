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
 * Cuts the queue into batches and keeps them until they are acknowledged or too old. If the collector sends states, it
 * keeps them until a state covers them. It also tracks the current stream: the first {@code acknowledged} of the
 * pending batches are in the collector's journal, and those after them, up to {@code sent}, are in flight. It uses no
 * network and no clock. Not thread-safe.
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

    private final List<PendingBatch> pending = new ArrayList<>();
    private int acknowledged;
    private int sent;
    private boolean givesStates;
    /**
     * The samples of acknowledged batches that were abandoned, up to a sequence. They are lost if the sender moves to
     * another collector before a state covers them.
     */
    private Losses journaledLosses = new Losses();
    private long journaledLossesUpTo;
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

    /** The annotation to send with the next batch, or null. */
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
     * Begins a new stream: no batch is in flight, no series is defined, and the topology must be announced again. Until
     * the stream is open, batches in the previous collector's journal count as acknowledged.
     */
    void beginStream() {
        sent = acknowledged;
        encoder.beginStream();
        announceAll();
    }

    /**
     * The stream is open.
     *
     * @param states whether the collector sends states. If so, acknowledged batches stay pending.
     * @param journaledUpTo the last batch that is in its journal, or 0.
     */
    void opened(boolean takesBlocks, boolean states, long journaledUpTo) {
        encoder.takesBlocks(takesBlocks);
        givesStates = states;
        long inJournal = states ? journaledUpTo : 0;
        acknowledged = pendingUpTo(inJournal, pending.size());
        sent = acknowledged;
        if (journaledLossesUpTo > inJournal) {
            countJournaledLosses();
        }
    }

    /** The number of batches up to a sequence among the first {@code among} pending ones. */
    private int pendingUpTo(long sequence, int among) {
        int count = 0;
        while (count < among && pending.get(count).sequence <= sequence) {
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
     * @param window the number of batches that may be in flight.
     * @param maxBatchBytes the largest batch that the collector accepts.
     * @param flush whether to cut a batch even if it is not full.
     * @return null if there is none.
     */
    Batch next(int window, int maxBatchBytes, boolean flush, long nowMs, long wallMs) {
        if (inFlight() >= window) {
            return null;
        }
        if (sent == pending.size()) {
            if (!isDue(flush)) {
                return null;
            }
            cut(Math.min(options.batchBytes, maxBatchBytes / 2), nowMs);
        }
        PendingBatch batch = pending.get(sent++);
        return encoder.encode(batch, pending.get(acknowledged).sequence, wallMs, clocks());
    }

    /** The clocks that were read since the last batch, or null. */
    private Clocks clocks() {
        List<WorkerClock> read = workers.takeClocks();
        if (read.isEmpty() && acknowledgedMs == 0) {
            return null;
        }
        return Clocks.newBuilder().setAcknowledgedTimeMs(acknowledgedMs)
                .setAcknowledgementSentTimeMs(acknowledgementSentMs).addAllWorkers(read).build();
    }

    /** Records when an acknowledgement was received, and when it was sent by the collector's clock. */
    void answered(long receivedMs, long sentMs) {
        acknowledgedMs = receivedMs;
        acknowledgementSentMs = sentMs;
    }

    /** Sends an annotation with the next batch. It replaces one that was not sent yet. */
    void note(Annotation newest) {
        note = newest;
    }

    /** Marks the last batch as the last, because Storm closes the consumer. */
    void close() {
        closing = true;
    }

    private boolean isDue(boolean flush) {
        long waiting = queue.published() - cutTo;
        return waiting >= options.batchSamples || flush && (waiting > 0 || hasAnnouncement());
    }

    private boolean hasAnnouncement() {
        return !topologyAnnounced || isClosingUnannounced() || workers.version() > workersAnnounced
                || losses.total() != lossesAnnounced;
    }

    private boolean isClosingUnannounced() {
        return closing && !closingAnnounced;
    }

    private void cut(int maxBytes, long nowMs) {
        PendingBatch batch = new PendingBatch(++lastSequence, cutTo, cutter.end(cutTo, maxBytes), nowMs);
        cutTo = batch.to;
        pending.add(batch);
        announce(batch);
        if (isClosingUnannounced() && cutTo == queue.published()) {
            batch.closing = true;
            closingAnnounced = true;
        }
    }

    private void announce(PendingBatch batch) {
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
     * The batches that were sent on this stream up to a sequence are durable.
     *
     * @return whether any of them was not known to be.
     */
    boolean acknowledge(long sequence) {
        int before = acknowledged;
        while (acknowledged < sent && pending.get(acknowledged).sequence <= sequence) {
            acknowledged++;
        }
        boolean advanced = acknowledged > before;
        if (!givesStates) {
            remove(acknowledged);
        }
        return advanced;
    }

    /** Whether the batches up to a sequence were sent to this collector, or are no longer pending. */
    boolean wasSent(long sequence) {
        if (sent > 0) {
            return sequence <= pending.get(sent - 1).sequence;
        }
        return sequence < (pending.isEmpty() ? lastSequence + 1 : pending.get(0).sequence);
    }

    /** A state covers the batches up to a sequence, which were all sent: removes them. */
    void releaseUpTo(long sequence) {
        remove(pendingUpTo(sequence, sent));
        if (sequence >= journaledLossesUpTo) {
            journaledLosses = new Losses();
            journaledLossesUpTo = 0;
        }
    }

    private void remove(int count) {
        pending.subList(0, count).clear();
        sent -= count;
        acknowledged = Math.max(0, acknowledged - count);
        release();
    }

    /**
     * The collector refused the batch of that sequence and those after it: they must be sent again.
     *
     * @return whether any of them was in flight.
     */
    boolean resendFrom(long sequence) {
        int before = sent;
        while (sent > acknowledged && pending.get(sent - 1).sequence >= sequence) {
            encoder.undefine(pending.get(--sent));
        }
        return sent < before;
    }

    /** Records what was queued, and abandons batches that are too old. */
    void expire(long nowMs) {
        arrivals.note(queue.published(), nowMs);
        long expired = arrivals.arrivedBy(nowMs - options.keepMs);
        while (!pending.isEmpty() && isExpired(pending.get(0), expired, nowMs)) {
            abandon(0, DropReason.DROP_REASON_EXPIRED);
        }
        while (acknowledged > 0 && queue.isNearlyFull()) {
            // New samples are only in this queue; acknowledged ones are also in the collector's journal.
            abandon(0, DropReason.DROP_REASON_QUEUE_FULL);
        }
        if (pending.isEmpty() && expired > cutTo) {
            countLost(losses, DropReason.DROP_REASON_EXPIRED, cutTo, expired);
            cutTo = expired;
        }
        release();
    }

    private boolean isExpired(PendingBatch batch, long expired, long nowMs) {
        return batch.samples() > 0 ? batch.to <= expired : nowMs - batch.cutMs >= options.keepMs;
    }

    /** Abandons the oldest batch that is not acknowledged. */
    void abandonFirst(DropReason reason) {
        abandon(acknowledged, reason);
    }

    private void abandon(int index, DropReason reason) {
        PendingBatch batch = pending.remove(index);
        boolean inJournal = index < acknowledged;
        if (inJournal) {
            acknowledged--;
            sent--;
            journaledLossesUpTo = batch.sequence;
        } else if (index < sent) {
            sent--;
            // Its definitions, which later batches may need, may never have been received.
            encoder.forgetDefinitions();
        }
        Losses into = inJournal ? journaledLosses : losses;
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

    /** Counts samples as lost that only the previous collector has, and no state. */
    private void countJournaledLosses() {
        for (Drop drop : journaledLosses.drops()) {
            losses.dropped(drop.getReason(), drop.getTotalSamples());
        }
        losses.putBack(journaledLosses.takeGaps());
        journaledLosses = new Losses();
        journaledLossesUpTo = 0;
    }

    /** Abandons everything at the end, except acknowledged batches, which the collector has. */
    void abandonAll(DropReason reason) {
        long from = acknowledged < pending.size() ? pending.get(acknowledged).from : cutTo;
        pending.clear();
        acknowledged = 0;
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
        queue.release(pending.isEmpty() ? cutTo : pending.get(0).from);
    }

    /** The sender's epoch, which is in every batch. */
    ByteString epoch() {
        return encoder.epoch();
    }

    /** The number of batches in flight on this stream. */
    int inFlight() {
        return sent - acknowledged;
    }

    /** The sequence of the oldest batch that is not acknowledged, or 0. */
    long firstUnacknowledged() {
        return acknowledged == pending.size() ? 0 : pending.get(acknowledged).sequence;
    }

    /** The sequence of the last batch in flight on this stream, or 0. */
    long lastInFlight() {
        return inFlight() == 0 ? 0 : pending.get(sent - 1).sequence;
    }

    /** Whether all samples and announcements are sent and acknowledged. */
    boolean isEmpty() {
        return acknowledged == pending.size() && queue.published() == cutTo && !isClosingUnannounced();
    }

    /** Samples that are queued, in flight, or in no state yet. */
    long samples() {
        return queue.published() - queue.released();
    }
}
