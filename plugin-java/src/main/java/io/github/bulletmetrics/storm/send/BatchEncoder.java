package io.github.bulletmetrics.storm.send;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.HistogramSample;
import io.github.bulletmetrics.storm.proto.v1.SampleColumns;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Series;
import java.util.BitSet;

/** Writes held batches for one stream, with the definitions that this stream does not have yet. One thread. */
final class BatchEncoder {
    private final ByteString epoch;
    private final SampleQueue queue;
    /** Ids defined on this stream by batches that were not refused. */
    private final BitSet defined = new BitSet();
    private int[] newlyDefined = new int[16];

    BatchEncoder(byte[] epoch, SampleQueue queue) {
        this.epoch = ByteString.copyFrom(epoch);
        this.queue = queue;
    }

    /** The sender's epoch, on every batch. */
    ByteString epoch() {
        return epoch;
    }

    /** From here on nothing counts as defined. */
    void beginStream() {
        defined.clear();
    }

    /** A batch was refused, and with it the definitions in it. */
    void undefine(HeldBatch batch) {
        for (int id : batch.defined) {
            defined.clear(id);
        }
    }

    Batch encode(HeldBatch held, long oldestHeld, long wallMs) {
        Batch.Builder batch = Batch.newBuilder()
                .setEpoch(epoch)
                .setSequence(held.sequence)
                .setOldestHeldSequence(oldestHeld)
                .setSendTimeMs(wallMs)
                .addAllDrops(held.drops)
                .addAllGaps(held.gaps)
                .addAllWorkers(held.workers);
        if (held.topology != null) {
            batch.setTopology(held.topology);
        }
        if (held.samples() > 0) {
            samples(held, batch);
        }
        return batch.build();
    }

    private void samples(HeldBatch held, Batch.Builder batch) {
        SampleColumns.Builder columns = SampleColumns.newBuilder();
        long baseTimeMs = queue.timeMs(held.from);
        columns.setBaseTimeMs(baseTimeMs);
        int definitions = 0;
        for (long position = held.from; position < held.to; position++) {
            Series series = queue.series(position);
            if (!defined.get(series.id())) {
                batch.addSeries(series.definition());
                definitions = define(series.id(), definitions);
            }
            byte[] distribution = queue.distribution(position);
            if (distribution != null) {
                batch.addHistograms(histogram(distribution));
                continue;
            }
            columns.addSeriesIds(series.id());
            columns.addTimeOffsetsMs(queue.timeMs(position) - baseTimeMs);
            columns.addValues(queue.value(position));
        }
        if (columns.getSeriesIdsCount() > 0) {
            batch.setSamples(columns);
        }
        held.defined = java.util.Arrays.copyOf(newlyDefined, definitions);
    }

    private static HistogramSample histogram(byte[] encoded) {
        try {
            return HistogramSample.parseFrom(encoded);
        } catch (InvalidProtocolBufferException ourOwn) {
            throw new IllegalStateException("the flattener encoded a distribution that cannot be read", ourOwn);
        }
    }

    private int define(int id, int definitions) {
        defined.set(id);
        if (definitions == newlyDefined.length) {
            newlyDefined = java.util.Arrays.copyOf(newlyDefined, definitions * 2);
        }
        newlyDefined[definitions] = id;
        return definitions + 1;
    }
}
