package io.github.bulletmetrics.storm.collector;

import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.Block;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.Gap;
import io.github.bulletmetrics.storm.proto.v1.HistogramSample;
import io.github.bulletmetrics.storm.proto.v1.Layout;
import io.github.bulletmetrics.storm.proto.v1.SampleColumns;
import io.github.bulletmetrics.storm.proto.v1.SeriesDefinition;
import io.github.bulletmetrics.storm.proto.v1.Shape;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.github.bulletmetrics.storm.proto.v1.WorkerInfo;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a collector has taken, kept as service.proto specifies: a batch once by (epoch, sequence), series by the ids of
 * their stream. Notes every breach of the protocol. Thread-safe.
 */
public final class Ledger {
    private final Set<String> taken = new HashSet<>();
    private final List<Sample> samples = new ArrayList<>();
    private final List<Block> blocks = new ArrayList<>();
    private final List<HistogramSample> histograms = new ArrayList<>();
    private final List<String> breaches = new ArrayList<>();
    private final Map<DropReason, Long> drops = new EnumMap<>(DropReason.class);
    private final List<Gap> gaps = new ArrayList<>();
    private final List<TopologyInfo> topologies = new ArrayList<>();
    private final Map<String, WorkerInfo> workers = new HashMap<>();
    private int duplicates;
    private long lastSequence;

    /** A sample with the series that it is of. */
    public record Sample(String host, int port, String component, int task, String name, List<String> key, long timeMs,
            double value) {
    }

    /** A new stream: its ids mean nothing yet. */
    public synchronized StreamIds newStream(boolean takesBlocks) {
        return new StreamIds(takesBlocks);
    }

    /** Takes a batch, unless it was taken before. */
    public synchronized void take(StreamIds stream, Batch batch) {
        for (SeriesDefinition definition : batch.getSeriesList()) {
            SeriesDefinition before = stream.definitions.put(definition.getId(), definition);
            if (before != null && !before.equals(definition)) {
                breaches.add("id " + definition.getId() + " defined as " + before + " and as " + definition);
            }
        }
        batch.getLayoutsList().forEach(layout -> defineLayout(stream, layout));
        if (batch.getEpoch().size() != 16 || batch.getSequence() < 1
                || batch.getOldestHeldSequence() > batch.getSequence()) {
            breaches.add("epoch or sequence of " + batch);
        }
        if (!taken.add(batch.getEpoch().toStringUtf8() + batch.getSequence())) {
            duplicates++;
            return;
        }
        if (batch.getSequence() <= lastSequence) {
            breaches.add("sequence " + batch.getSequence() + " taken after " + lastSequence);
        }
        lastSequence = batch.getSequence();
        addSamples(stream, batch.getSamples());
        batch.getBlocksList().forEach(block -> addBlock(stream, block));
        for (HistogramSample histogram : batch.getHistogramsList()) {
            SeriesDefinition of = stream.definitions.get(histogram.getSeriesId());
            if (of == null || of.getShape() != Shape.SHAPE_HISTOGRAM) {
                breaches.add("id " + histogram.getSeriesId() + " of a histogram is " + of);
            }
            histograms.add(histogram);
        }
        batch.getDropsList().forEach(drop -> drops.put(drop.getReason(), drop.getTotalSamples()));
        gaps.addAll(batch.getGapsList());
        batch.getWorkersList().forEach(worker -> workers.put(worker.getHost() + ":" + worker.getPort(), worker));
        if (batch.hasTopology()) {
            topologies.add(batch.getTopology());
        }
    }

    private void addSamples(StreamIds stream, SampleColumns columns) {
        if (columns.getTimeOffsetsMsCount() != columns.getValuesCount()
                || columns.getSeriesIdsCount() != columns.getValuesCount()) {
            breaches.add("columns of unequal length");
            return;
        }
        for (int i = 0; i < columns.getValuesCount(); i++) {
            SeriesDefinition of = stream.definitions.get(columns.getSeriesIds(i));
            if (of == null) {
                breaches.add("id " + columns.getSeriesIds(i) + " is not defined on this stream");
                continue;
            }
            add(of, columns.getBaseTimeMs() + columns.getTimeOffsetsMs(i), columns.getValues(i));
        }
    }

    private void defineLayout(StreamIds stream, Layout layout) {
        Layout before = stream.layouts.put(layout.getId(), layout);
        if (before != null && !before.equals(layout) || layout.getId() < 1) {
            breaches.add("layout " + layout.getId() + " defined as " + before + " and as " + layout);
        }
        if (!stream.definitions.keySet().containsAll(layout.getSeriesIdsList())) {
            breaches.add("layout " + layout.getId() + " has series that are not defined on this stream");
        }
    }

    private void addBlock(StreamIds stream, Block block) {
        Layout layout = stream.layouts.get(block.getLayoutId());
        if (!stream.takesBlocks || layout == null) {
            breaches.add("a block of layout " + block.getLayoutId() + " = " + layout + ", blocks taken: "
                    + stream.takesBlocks);
            return;
        }
        try {
            for (BlockReader.Sample sample : BlockReader.read(layout, block)) {
                add(stream.definitions.get(sample.seriesId()), sample.timeMs(), sample.value());
            }
            blocks.add(block);
        } catch (IllegalArgumentException breach) {
            breaches.add("block " + block + ": " + breach.getMessage());
        }
    }

    private void add(SeriesDefinition of, long timeMs, double value) {
        samples.add(new Sample(of.getHost(), of.getPort(), of.getComponent(), of.getTask(), of.getName(),
                of.getKeyList(), timeMs, value));
    }

    /** The blocks among what was taken. */
    public synchronized List<Block> blocks() {
        return new ArrayList<>(blocks);
    }

    public synchronized List<Sample> samples() {
        return new ArrayList<>(samples);
    }

    public synchronized List<HistogramSample> histograms() {
        return new ArrayList<>(histograms);
    }

    public synchronized List<String> breaches() {
        return new ArrayList<>(breaches);
    }

    public synchronized Map<DropReason, Long> drops() {
        return new EnumMap<>(drops);
    }

    public synchronized List<Gap> gaps() {
        return new ArrayList<>(gaps);
    }

    public synchronized List<TopologyInfo> topologies() {
        return new ArrayList<>(topologies);
    }

    public synchronized Map<String, WorkerInfo> workers() {
        return new HashMap<>(workers);
    }

    /** Batches that came again after they had been taken. */
    public synchronized int duplicates() {
        return duplicates;
    }

    /** Batches taken. */
    public synchronized int batches() {
        return taken.size();
    }

    /** The ids of one stream. */
    public static final class StreamIds {
        private final Map<Integer, SeriesDefinition> definitions = new HashMap<>();
        private final Map<Integer, Layout> layouts = new HashMap<>();
        private final boolean takesBlocks;

        private StreamIds(boolean takesBlocks) {
            this.takesBlocks = takesBlocks;
        }
    }
}
