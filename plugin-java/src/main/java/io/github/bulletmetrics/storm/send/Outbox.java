package io.github.bulletmetrics.storm.send;

import com.google.protobuf.ByteString;
import io.github.bulletmetrics.storm.proto.v1.Annotation;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.Clocks;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.github.bulletmetrics.storm.proto.v1.WorkerClock;
import io.github.bulletmetrics.storm.queue.Block;
import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Series;
import io.github.bulletmetrics.storm.queue.Workers;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * Cuts what is queued into batches and holds them until they are acknowledged or too old. Knows where the current
 * stream stands: the first {@code sent} of the held batches are under way on it. Touches no network and no clock. One
 * thread.
 */
final class Outbox {
    /**
     * What a sample takes in a batch at most, bytes: as columns a five-byte id, a ten-byte time offset, a value. In a
     * block it takes less, its place in the layout, its row's offset and the presence of two cells included.
     */
    private static final int SAMPLE_BYTES = 5 + 10 + 8;
    /** What a block and its layout take beside their samples at most, bytes. */
    private static final int BLOCK_BYTES = 96;
    /** Workers announced in one batch at most: with their tasks about 100 KiB. The others follow in the next. */
    private static final int WORKERS_PER_BATCH = 1_000;

    private final SampleQueue queue;
    private final Losses losses;
    private final Workers workers;
    private final TopologyInfo topology;
    private final ExportOptions options;
    private final BatchEncoder encoder;
    private final ArrivalLog arrivals = new ArrivalLog();
    private final BitSet seriesOfCut = new BitSet();
    private final Block part = new Block();

    private final List<HeldBatch> held = new ArrayList<>();
    private int sent;
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
    }

    /** A new stream: nothing is under way on it, nothing defined, and the topology must be described on it. */
    void beginStream() {
        sent = 0;
        encoder.beginStream();
        announceAll();
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
        if (sent >= window) {
            return null;
        }
        if (sent == held.size()) {
            if (!isDue(flush)) {
                return null;
            }
            cut(Math.min(options.batchBytes, maxBatchBytes / 2), nowMs);
        }
        HeldBatch batch = held.get(sent++);
        return encoder.encode(batch, held.get(0).sequence, wallMs, clocks());
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

    /** Whether the collector at this stream's end takes blocks. */
    void takesBlocks(boolean takes) {
        encoder.takesBlocks(takes);
    }

    private void cut(int maxBytes, long nowMs) {
        HeldBatch batch = new HeldBatch(++lastSequence, cutTo, endOfCut(maxBytes), nowMs);
        cutTo = batch.to;
        held.add(batch);
        announce(batch);
        if (isClosingUnsaid() && cutTo == queue.published()) {
            batch.closing = true;
            closingAnnounced = true;
        }
    }

    /**
     * As many blocks as fit with the definitions of all their series, which a later stream may need; of a block that
     * alone is too large, as many samples as fit.
     */
    private long endOfCut(int maxBytes) {
        seriesOfCut.clear();
        long end = queue.published();
        long bytes = 0;
        long position = cutTo;
        for (long block = queue.block(cutTo); position < end; block++) {
            long next = queue.end(block);
            bytes += bytes(block, next - position);
            if (bytes > maxBytes || next - cutTo > options.batchSamples) {
                return position > cutTo ? position : endOfPart(block, maxBytes);
            }
            position = next;
        }
        return position;
    }

    private long bytes(long block, long samples) {
        Layout layout = queue.layout(block);
        long bytes = BLOCK_BYTES + samples * SAMPLE_BYTES;
        for (int column = 0; column < layout.columns(); column++) {
            bytes += definitionBytes(layout.series(column));
        }
        byte[] distribution = queue.distribution(block);
        return distribution == null ? bytes : bytes + distribution.length;
    }

    /** 0 where the batch that is cut has the definition already. */
    private int definitionBytes(Series series) {
        if (seriesOfCut.get(series.id())) {
            return 0;
        }
        seriesOfCut.set(series.id());
        return series.definitionBytes();
    }

    /** One sample at least, or nothing would ever get on. */
    private long endOfPart(long number, int maxBytes) {
        if (queue.distribution(number) != null) {
            return queue.end(number);
        }
        queue.read(number, part);
        seriesOfCut.clear();
        long bytes = BLOCK_BYTES;
        long limit = Math.min(queue.end(number), cutTo + options.batchSamples);
        long position = queue.start(number);
        for (int cell = 0; cell < part.cells() && position < limit; cell++) {
            if (part.isPresent(cell) && position++ >= cutTo) {
                bytes += SAMPLE_BYTES + definitionBytes(part.layout().series(cell / part.rows()));
                if (bytes > maxBytes && position - 1 > cutTo) {
                    return position - 1;
                }
            }
        }
        return position;
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
        int acknowledged = 0;
        while (acknowledged < sent && held.get(acknowledged).sequence <= sequence) {
            acknowledged++;
        }
        held.subList(0, acknowledged).clear();
        sent -= acknowledged;
        release();
        return acknowledged > 0;
    }

    /**
     * The batch of that sequence and those after it were not taken: they are to be sent again.
     *
     * @return whether any of them was under way.
     */
    boolean goBackTo(long sequence) {
        int before = sent;
        while (sent > 0 && held.get(sent - 1).sequence >= sequence) {
            encoder.undefine(held.get(--sent));
        }
        return sent < before;
    }

    /** Notes what has come, and abandons what has been here too long. */
    void expire(long nowMs) {
        arrivals.note(queue.published(), nowMs);
        long expired = arrivals.arrivedBy(nowMs - options.keepMs);
        while (!held.isEmpty() && isExpired(held.get(0), expired, nowMs)) {
            giveUpFirst(DropReason.DROP_REASON_EXPIRED);
        }
        if (held.isEmpty() && expired > cutTo) {
            countLost(DropReason.DROP_REASON_EXPIRED, cutTo, expired);
            cutTo = expired;
        }
        release();
    }

    private boolean isExpired(HeldBatch batch, long expired, long nowMs) {
        return batch.samples() > 0 ? batch.to <= expired : nowMs - batch.cutMs >= options.keepMs;
    }

    /** Gives the oldest held batch up. */
    void giveUpFirst(DropReason reason) {
        HeldBatch batch = held.remove(0);
        if (sent > 0) {
            sent--;
            // It may never have been taken, and with it the definitions that later batches rest on.
            encoder.forgetDefinitions();
        }
        countLost(reason, batch.from, batch.to);
        losses.putBack(batch.gaps);
        note = note == null ? batch.note : note;
        if (batch.announces()) {
            announceAll();
        }
        release();
    }

    /** Abandons everything, at the end. */
    void giveUpAll(DropReason reason) {
        held.clear();
        sent = 0;
        closing = false;
        long published = queue.published();
        countLost(reason, queue.released(), published);
        cutTo = published;
        release();
    }

    private void countLost(DropReason reason, long from, long to) {
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
        losses.droppedBetween(reason, to - from, firstMs, lastMs);
    }

    private void release() {
        queue.release(held.isEmpty() ? cutTo : held.get(0).from);
    }

    /** Whether an answer is about this sender's batches. */
    boolean isEpoch(ByteString epoch) {
        return encoder.epoch().equals(epoch);
    }

    /** Batches under way on this stream. */
    int underWay() {
        return sent;
    }

    /** The sequence of the oldest held batch; 0 when none is held. */
    long firstHeld() {
        return held.isEmpty() ? 0 : held.get(0).sequence;
    }

    /** The sequence of the last batch under way on this stream; 0 when none is. */
    long lastUnderWay() {
        return sent == 0 ? 0 : held.get(sent - 1).sequence;
    }

    /** Whether batches are held or samples wait. */
    boolean isEmpty() {
        return held.isEmpty() && queue.published() == cutTo && !isClosingUnsaid();
    }

    /** Samples that wait or are under way. */
    long samples() {
        return queue.published() - queue.released();
    }
}
