package io.github.bulletmetrics.storm.send;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnsafeByteOperations;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.Clocks;
import io.github.bulletmetrics.storm.proto.v1.SampleColumns;
import io.github.bulletmetrics.storm.queue.Block;
import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Series;

/**
 * Encodes pending batches for one stream, with the definitions that this stream does not have yet. Complete blocks are
 * encoded as blocks if the collector accepts them, and everything else as columns. A distribution is copied as the
 * flattener encoded it. To read it, decode the batch from its bytes, as the collector does. Not thread-safe.
 */
final class BatchEncoder {
    /**
     * Columns of all layouts defined on one stream at most, since a collector has to know them until the stream ends:
     * eight times what 1,162 executors need. Blocks of further layouts travel as columns.
     */
    static final int MAX_STREAM_COLUMNS = 1 << 20;
    /**
     * Event times beyond this, ms, are no times, and the rules of blocks end the stream for one; as columns they are
     * refused by themselves.
     */
    private static final long MAX_TIME_MS = 1L << 60;

    private final ByteString epoch;
    private final SampleQueue queue;
    private final BlockEncoder blocks = new BlockEncoder();
    private final ColumnEncoder columns = new ColumnEncoder();
    private final Definitions series = new Definitions();
    private final Definitions layouts = new Definitions();
    private final Block block = new Block();

    // The state of the current stream.
    private boolean takesBlocks;
    private int columnsDefined;

    BatchEncoder(byte[] epoch, SampleQueue queue) {
        this.epoch = ByteString.copyFrom(epoch);
        this.queue = queue;
    }

    /** The sender's epoch, on every batch. */
    ByteString epoch() {
        return epoch;
    }

    /** A new stream, whose collector is not known to take blocks. */
    void beginStream() {
        takesBlocks = false;
        forgetDefinitions();
    }

    /** Whether the collector at this stream's end takes blocks. */
    void takesBlocks(boolean takes) {
        takesBlocks = takes;
    }

    /** From here on nothing counts as defined. */
    void forgetDefinitions() {
        series.clear();
        layouts.clear();
        columnsDefined = 0;
    }

    /** A batch was refused, and with it the definitions in it. */
    void undefine(PendingBatch batch) {
        series.undefine(batch.definedSeries);
        layouts.undefine(batch.definedLayouts);
        // Those that were forgotten since are not counted any more.
        columnsDefined = Math.max(0, columnsDefined - batch.definedColumns);
        batch.definedColumns = 0;
    }

    Batch encode(PendingBatch pending, long oldestPending, long wallMs, Clocks clocks) {
        Batch.Builder batch = Batch.newBuilder()
                .setEpoch(epoch)
                .setSequence(pending.sequence)
                .setOldestHeldSequence(oldestPending)
                .setSendTimeMs(wallMs)
                .addAllDrops(pending.drops)
                .addAllGaps(pending.gaps)
                .addAllWorkers(pending.workers);
        if (pending.firstSentMs == 0) {
            pending.firstSentMs = wallMs;
        } else if (pending.firstSentMs != wallMs) {
            batch.setFirstSendTimeMs(pending.firstSentMs);
        }
        if (pending.topology != null) {
            batch.setTopology(pending.topology);
        }
        if (pending.note != null) {
            batch.addAnnotations(pending.note);
        }
        if (clocks != null) {
            batch.setClocks(clocks);
        }
        if (pending.closing) {
            batch.setClosing(true);
        }
        if (pending.samples() > 0) {
            samples(pending, batch);
        }
        return batch.build();
    }

    private void samples(PendingBatch pending, Batch.Builder batch) {
        series.beginBatch();
        layouts.beginBatch();
        int columnsBefore = columnsDefined;
        UnknownFieldSet.Field.Builder distributions = UnknownFieldSet.Field.newBuilder();
        long position = pending.from;
        for (long number = queue.block(pending.from); position < pending.to; number++) {
            long end = Math.min(queue.end(number), pending.to);
            byte[] distribution = queue.distribution(number);
            if (distribution != null) {
                define(queue.layout(number).series(0), batch);
                distributions.addLengthDelimited(UnsafeByteOperations.unsafeWrap(distribution));
            } else {
                numbers(number, (int) (position - queue.start(number)), (int) (end - queue.start(number)), batch);
            }
            position = end;
        }
        SampleColumns single = columns.take();
        if (single != null) {
            batch.setSamples(single);
        }
        // They are encoded already, and unknown fields are written as they are: on the wire nothing distinguishes them
        // from histograms that the batch would encode again.
        batch.setUnknownFields(UnknownFieldSet.newBuilder().addField(Batch.HISTOGRAMS_FIELD_NUMBER,
                distributions.build()).build());
        pending.definedSeries = series.ofBatch();
        pending.definedLayouts = layouts.ofBatch();
        pending.definedColumns = columnsDefined - columnsBefore;
    }

    private void numbers(long number, int from, int to, Batch.Builder batch) {
        queue.read(number, block);
        boolean complete = to - from == block.samples();
        if (complete && takesBlocks && isTime(block.firstMs()) && defineLayout(block.layout(), batch)) {
            batch.addBlocks(blocks.encode(block));
        } else {
            columns.add(block, from, to, used -> define(used, batch));
        }
    }

    private static boolean isTime(long ms) {
        return ms >= -MAX_TIME_MS && ms <= MAX_TIME_MS;
    }

    /** False where the stream has as many columns as it may have. */
    private boolean defineLayout(Layout layout, Batch.Builder batch) {
        if (layouts.has(layout.id())) {
            return true;
        }
        if (columnsDefined + layout.columns() > MAX_STREAM_COLUMNS) {
            return false;
        }
        for (int column = 0; column < layout.columns(); column++) {
            define(layout.series(column), batch);
        }
        layouts.define(layout.id());
        columnsDefined += layout.columns();
        batch.addLayouts(layout.definition());
        return true;
    }

    private void define(Series of, Batch.Builder batch) {
        if (!series.has(of.id())) {
            series.define(of.id());
            batch.addSeries(of.definition());
        }
    }
}
