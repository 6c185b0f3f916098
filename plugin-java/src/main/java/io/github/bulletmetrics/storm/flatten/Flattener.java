package io.github.bulletmetrics.storm.flatten;

import io.github.bulletmetrics.storm.flatten.SeriesTable.SourceNames;
import io.github.bulletmetrics.storm.latency.LatencyPack;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.queue.Block;
import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Source;
import io.github.bulletmetrics.storm.queue.Workers;
import io.github.bulletmetrics.storm.sampler.SamplePack;
import io.github.bulletmetrics.storm.sampler.Sampler;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Flattens the reports of tasks into samples and queues them. The numbers of a report become one block with one row. A
 * pack of the worker's sampler becomes one block with one row per sample. A report is split into several blocks if it
 * has more than {@link Layout#MAX_COLUMNS} series or one of them twice. A pack is split if it has more than {@link
 * Block#MAX_CELLS} cells or its times do not rise.
 *
 * <p>A number is one sample. A map is one sample for each number in it, at any depth up to {@link #MAX_DEPTH}. A pack
 * of the worker's sampler has its samples, with their own times, and a pack of the latency hook has distributions.
 * Nulls are skipped, and all other types are counted as {@link DropReason#DROP_REASON_UNSUPPORTED_VALUE}. NaN and
 * infinities are passed on, because the collector refuses and counts them. An entry of a map that cannot be read is
 * skipped and counted as {@link DropReason#DROP_REASON_INTERNAL}; the other entries are kept.
 *
 * <p>Use: {@link #begin}, {@link #add} for every data point, {@link #end}. It never throws because of the content of a
 * data point and never waits. It allocates nothing per number of a known series. Not thread-safe.
 */
public final class Flattener {
    /** The metric under which a worker's sampler reports. */
    public static final String SAMPLER_METRIC = "bullet-metrics.sampler";
    /**
     * The metric under which the same samples are reported live. A task must not have two metrics of one name. The name
     * begins with the other one, so that most filters of metrics apply to both.
     */
    public static final String LIVE_SAMPLER_METRIC = SAMPLER_METRIC + ".live";
    /** The metric under which a task's latency hook reports. */
    public static final String LATENCY_METRIC = "bullet-metrics.latency";

    /** Maps within maps that are followed. */
    static final int MAX_DEPTH = 8;
    /** How often a map that changes while it is read is read again: Bullet hands over its live map. */
    static final int MAX_READS = 5;

    private final SampleQueue queue;
    private final Losses losses;
    private final Workers workers;
    private final SeriesTable table;
    private final Consumer<Throwable> failures;

    private final Tick tick = new Tick();
    private final Block block = new Block();
    /** The distributions of a pack, all of which are encoded before one is queued. */
    private final List<Layout> latencyLayouts = new ArrayList<>();
    private final List<byte[]> encodedLatencies = new ArrayList<>();

    private SourceNames source;
    private boolean begun;
    private long nowMs;
    private long timeMs;
    private long unsupported;
    private long overLimit;
    private long failed;
    private long refused;
    private long firstRefusedMs;
    private long lastRefusedMs;

    /**
     * @param queue where the samples go.
     * @param losses where drops are counted.
     * @param workers receives every worker's process and tasks.
     * @param maxNames how many sources, metrics and map keys are held at most.
     * @param failures receives each data point or entry that could not be read, which is counted too.
     */
    public Flattener(SampleQueue queue, Losses losses, Workers workers, int maxNames, Consumer<Throwable> failures) {
        this.queue = queue;
        this.losses = losses;
        this.workers = workers;
        this.table = new SeriesTable(maxNames);
        this.failures = failures;
    }

    /**
     * Begins what one task reported.
     *
     * @param timestampSeconds event time of all numbers, seconds since the Unix epoch.
     * @param intervalSeconds how often it reports, seconds.
     * @param monotonicMs now, on a clock that never steps, ms.
     */
    public void begin(String host, int port, String component, int task, long timestampSeconds, int intervalSeconds,
            long monotonicMs) {
        nowMs = monotonicMs;
        timeMs = timestampSeconds * 1_000;
        begun = true;
        tick.begin(queue.capacity());
        source = table.source(host == null ? "" : host, port, component == null ? "" : component, task,
                intervalSeconds * 1_000, nowMs);
        if (source == null) {
            return;
        }
        if (source.worker == null) {
            source.worker = workers.worker(source.source.host(), port);
        }
        if (task != Source.WORKER_TASK) {
            workers.report(source.worker, task, timeMs);
        }
    }

    /** Flattens one data point. */
    public void add(String name, Object value) {
        try {
            dataPoint(name, value);
        } catch (Throwable unreadable) {
            failed(unreadable);
        }
    }

    private void failed(Throwable unreadable) {
        failed++;
        failures.accept(unreadable);
    }

    /** Shows the sender what was queued, and counts what was not. */
    public void end() {
        if (!begun) {
            return;
        }
        begun = false;
        try {
            numbers();
        } catch (RuntimeException | LinkageError unforeseen) {
            failed(unforeseen);
        }
        queue.publish();
        if (unsupported + overLimit + failed + refused > 0) {
            countLosses();
        }
    }

    private void dataPoint(String name, Object value) {
        if (value instanceof Number) {
            number(name == null || source == null ? null : table.metric(source, name, nowMs), (Number) value);
        } else if (value instanceof Map) {
            readMap(name == null || source == null ? null : table.metric(source, name, nowMs), (Map<?, ?>) value);
        } else if (value instanceof byte[] && (SAMPLER_METRIC.equals(name) || LIVE_SAMPLER_METRIC.equals(name))) {
            pack(SamplePack.read((byte[]) value));
        } else if (value instanceof byte[] && LATENCY_METRIC.equals(name)) {
            latencies(LatencyPack.read((byte[]) value));
        } else if (value != null) {
            unsupported++;
        }
    }

    private void number(Name name, Number value) {
        if (name == null) {
            overLimit++;
        } else {
            if (!tick.add(table.series(source, name), value.doubleValue())) {
                refused(1, timeMs, timeMs);
            }
        }
    }

    /** Queues the numbers of the report. */
    private void numbers() {
        if (tick.size() > 0 && !source.layouts.isLikeTheLast(tick)) {
            tick.sort();
        }
        int part = 0;
        for (int from = 0; from < tick.size(); part++) {
            int to = tick.endOfRun(from, Layout.MAX_COLUMNS);
            numbers(part, from, to);
            from = to;
        }
    }

    private void numbers(int part, int from, int to) {
        int capacity = queue.free(to - from);
        if (capacity < to - from) {
            refused(to - from - capacity, timeMs, timeMs);
        }
        if (capacity == 0) {
            return;
        }
        Layout layout = source.layouts.of(part, tick, from, to, table);
        block.begin(layout, timeMs, 0, 1);
        int at = from;
        for (int column = 0; column < layout.columns(); column++) {
            if (at < from + capacity && tick.series(at) == layout.series(column)) {
                block.add(tick.value(at++));
            } else {
                block.skip();
            }
        }
        offer(timeMs);
    }

    private void offer(long lastMs) {
        if (!queue.offer(block)) {
            refused(block.samples(), block.firstMs(), lastMs);
        }
    }

    private void refused(int samples, long firstMs, long lastMs) {
        firstRefusedMs = refused == 0 ? firstMs : Math.min(firstRefusedMs, firstMs);
        lastRefusedMs = refused == 0 ? lastMs : Math.max(lastRefusedMs, lastMs);
        refused += samples;
    }

    /**
     * Reads a map that another thread may be writing. A read that a change interrupts is discarded and repeated; the
     * last one keeps what it has read.
     */
    private void readMap(Name name, Map<?, ?> map) {
        int mark = tick.size();
        long unsupportedBefore = unsupported;
        long overLimitBefore = overLimit;
        long failedBefore = failed;
        long refusedBefore = refused;
        for (int read = 1; read < MAX_READS; read++) {
            try {
                map(name, map, 1, false);
                return;
            } catch (ConcurrentModificationException changed) {
                tick.truncate(mark);
                unsupported = unsupportedBefore;
                overLimit = overLimitBefore;
                failed = failedBefore;
                refused = refusedBefore;
            }
        }
        map(name, map, 1, true);
    }

    private void map(Name name, Map<?, ?> map, int depth, boolean last) {
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            try {
                entry(name, entry.getKey(), entry.getValue(), depth, last);
            } catch (Throwable unreadable) {
                if (unreadable instanceof ConcurrentModificationException && !last) {
                    throw (ConcurrentModificationException) unreadable;
                }
                failed(unreadable);
            }
        }
    }

    private void entry(Name map, Object key, Object value, int depth, boolean last) {
        if (value instanceof Number) {
            number(key(map, key), (Number) value);
        } else if (value instanceof Map && depth < MAX_DEPTH) {
            map(key(map, key), (Map<?, ?>) value, depth + 1, last);
        } else if (value != null) {
            unsupported++;
        }
    }

    private Name key(Name map, Object key) {
        return map == null ? null : table.key(source, map, key instanceof String ? (String) key : String.valueOf(key),
                nowMs);
    }

    private void pack(SamplePack pack) {
        SamplerSeries series = samplerSeries(pack);
        if (series == null) {
            overLimit += pack.samples();
            return;
        }
        Source worker = source.source;
        workers.process(source.worker, series.process.pid(), series.process.startTimeMs());
        workers.packReceived(source.worker, pack.sentByWorkerMs(), System.currentTimeMillis());
        if (pack.lost() > 0) {
            losses.droppedBetween(DropReason.DROP_REASON_QUEUE_FULL, series.lost(pack), pack.firstLostMs(),
                    pack.lastLostMs(),
                    worker.host(), worker.port());
        }
        for (int sample = 0; sample < pack.samples();) {
            sample += samples(series, pack, sample);
        }
        for (int sample = 0; series.host != null && sample < pack.samples(); sample++) {
            host(series.host, pack, sample);
        }
    }

    /** Queues what a sample has of the host, as a block of one row; few samples of a pack have it. */
    private void host(Layout layout, SamplePack pack, int sample) {
        if (pack.host(sample, 0) == SamplePack.UNKNOWN) {
            return;
        }
        long sampleMs = pack.timeMs(sample);
        if (queue.free(layout.columns()) < layout.columns()) {
            refused(layout.columns(), sampleMs, sampleMs);
            return;
        }
        block.begin(layout, sampleMs, 0, 1);
        for (int column = 0; column < layout.columns(); column++) {
            block.add(pack.host(sample, column));
        }
        offer(sampleMs);
    }

    private SamplerSeries samplerSeries(SamplePack pack) {
        if (source == null || source.sampler != null && source.sampler.isOf(pack)) {
            return source == null ? null : source.sampler;
        }
        if (source.sampler == null && !table.hasCapacityFor(SAMPLER_METRIC, nowMs)) {
            return null;
        }
        int before = source.sampler == null ? 0 : source.sampler.size();
        source.sampler = new SamplerSeries(table, source.source, pack, source.sampler);
        table.hold(source, source.sampler.size() - before);
        return source.sampler;
    }

    /**
     * Queues some samples of a pack as a block; what could not be read is absent from it.
     *
     * @return how many rows.
     */
    private int samples(SamplerSeries series, SamplePack pack, int first) {
        int columns = series.layout.columns();
        int most = Math.min(pack.samples() - first, Math.max(1, Block.MAX_CELLS / columns));
        int rows = risingSamples(pack, first, Math.max(1, queue.free(most * columns) / columns));
        block.begin(series.layout, pack.timeMs(first), rows == 1 ? 0 : Sampler.INTERVAL_MS, rows);
        for (int row = 1; row < rows; row++) {
            int offset = (int) offsetMs(pack, first, row);
            if (offset != 0) {
                block.offset(row, offset);
            }
        }
        for (int column = 0; column < columns; column++) {
            for (int row = 0; row < rows; row++) {
                long value = series.value(pack, first + row, column);
                if (value == SamplePack.UNKNOWN) {
                    block.skip();
                } else {
                    block.add(value);
                }
            }
        }
        if (block.samples() > 0) {
            offer(pack.timeMs(first + rows - 1));
        }
        return rows;
    }

    /**
     * How many samples, from one on, have times that a block can have: each behind the one before, and no further from
     * its place than an int can hold.
     */
    private static int risingSamples(SamplePack pack, int first, int most) {
        int rows = 1;
        while (rows < most && pack.timeMs(first + rows) > pack.timeMs(first + rows - 1)
                && offsetMs(pack, first, rows) == (int) offsetMs(pack, first, rows)) {
            rows++;
        }
        return rows;
    }

    private static long offsetMs(SamplePack pack, int first, int row) {
        return pack.timeMs(first + row) - pack.timeMs(first) - (long) row * Sampler.INTERVAL_MS;
    }

    private void latencies(LatencyPack pack) {
        Name packs = source == null ? null : table.metric(source, LATENCY_METRIC, nowMs);
        latencyLayouts.clear();
        encodedLatencies.clear();
        for (LatencyPack.Distribution distribution : pack.distributions()) {
            Layout layout = latencyLayout(packs, distribution);
            if (layout == null) {
                overLimit++;
            } else {
                latencyLayouts.add(layout);
                encodedLatencies.add(LatencySamples.encode(pack, distribution, layout.series(0).id(), timeMs));
            }
        }
        for (int i = 0; i < latencyLayouts.size(); i++) {
            if (!queue.offer(latencyLayouts.get(i), timeMs, encodedLatencies.get(i))) {
                refused(1, timeMs, timeMs);
            }
        }
    }

    private Layout latencyLayout(Name packs, LatencyPack.Distribution distribution) {
        Name name = key(packs, distribution.name());
        Name place = distribution.key().isEmpty() ? name : key(name, distribution.key());
        return place == null ? null : table.latencyLayout(source, place, distribution.name(), distribution.key());
    }

    private void countLosses() {
        losses.dropped(DropReason.DROP_REASON_UNSUPPORTED_VALUE, unsupported);
        losses.dropped(DropReason.DROP_REASON_SERIES_LIMIT, overLimit);
        if (failed > 0) {
            losses.droppedBetween(DropReason.DROP_REASON_INTERNAL, failed, timeMs, timeMs);
        }
        if (refused > 0) {
            losses.droppedBetween(DropReason.DROP_REASON_QUEUE_FULL, refused, firstRefusedMs, lastRefusedMs);
        }
        unsupported = 0;
        overLimit = 0;
        failed = 0;
        refused = 0;
    }
}
