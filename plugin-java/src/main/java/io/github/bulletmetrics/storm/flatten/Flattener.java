package io.github.bulletmetrics.storm.flatten;

import io.github.bulletmetrics.storm.flatten.SeriesTable.SourceNames;
import io.github.bulletmetrics.storm.latency.LatencyPack;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Series;
import io.github.bulletmetrics.storm.queue.Source;
import io.github.bulletmetrics.storm.queue.Workers;
import io.github.bulletmetrics.storm.sampler.SamplePack;
import java.util.ConcurrentModificationException;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Flattens what one task reported into samples and queues them.
 *
 * <p>A number is one sample; a map is one for each number in it, at any depth up to {@link #MAX_DEPTH}; a pack of the worker's
 * sampler is its samples, at their own times; a pack of the latency hook is its distributions. Nulls are skipped; anything else is counted as
 * {@link DropReason#DROP_REASON_UNSUPPORTED_VALUE}. NaN and infinities are passed on: the collector refuses and counts them.
 *
 * <p>Use: {@link #begin}, {@link #add} for every data point, {@link #end}. Never throws for what a data point holds, never waits,
 * and allocates nothing per number once it knows the series. One thread at a time.
 */
public final class Flattener {
    /** The metric under which a worker's sampler reports. */
    public static final String SAMPLER_METRIC = "bullet-metrics.sampler";
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
     * @param workers told of every worker's process and tasks.
     * @param maxNames how many sources, metrics and map keys are held at most.
     * @param failures told of a data point that could not be read; it is counted besides.
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
    public void begin(String host, int port, String component, int task, long timestampSeconds, int intervalSeconds, long monotonicMs) {
        nowMs = monotonicMs;
        timeMs = timestampSeconds * 1_000;
        begun = true;
        source = table.source(host == null ? "" : host, port, component == null ? "" : component, task, intervalSeconds * 1_000, nowMs);
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
        long mark = queue.mark();
        try {
            dataPoint(name, value);
        } catch (RuntimeException | LinkageError | StackOverflowError unreadable) {
            queue.rewind(mark);
            failed++;
            failures.accept(unreadable);
        }
    }

    /** Shows the sender what was queued, and counts what was not. */
    public void end() {
        if (!begun) {
            return;
        }
        begun = false;
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
        } else if (value instanceof byte[] && SAMPLER_METRIC.equals(name)) {
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
            offer(table.series(source, name), timeMs, value.doubleValue());
        }
    }

    private void offer(Series series, long sampleTimeMs, double value) {
        if (!queue.offer(series, sampleTimeMs, value)) {
            refused(sampleTimeMs);
        }
    }

    private void refused(long sampleTimeMs) {
        firstRefusedMs = refused == 0 ? sampleTimeMs : Math.min(firstRefusedMs, sampleTimeMs);
        lastRefusedMs = refused == 0 ? sampleTimeMs : Math.max(lastRefusedMs, sampleTimeMs);
        refused++;
    }

    /** Reads a map that another thread may be writing: as often as it takes to see it whole, within reason. */
    private void readMap(Name name, Map<?, ?> map) {
        long mark = queue.mark();
        long unsupportedBefore = unsupported;
        long overLimitBefore = overLimit;
        long refusedBefore = refused;
        for (int read = 1;; read++) {
            try {
                map(name, map, 1);
                return;
            } catch (ConcurrentModificationException changed) {
                queue.rewind(mark);
                unsupported = unsupportedBefore;
                overLimit = overLimitBefore;
                refused = refusedBefore;
                if (read == MAX_READS) {
                    throw changed;
                }
            }
        }
    }

    private void map(Name name, Map<?, ?> map, int depth) {
        for (Map.Entry<?, ?> entry : map.entrySet()) {
            Object value = entry.getValue();
            if (value instanceof Number) {
                number(key(name, entry.getKey()), (Number) value);
            } else if (value instanceof Map && depth < MAX_DEPTH) {
                map(key(name, entry.getKey()), (Map<?, ?>) value, depth + 1);
            } else if (value != null) {
                unsupported++;
            }
        }
    }

    private Name key(Name map, Object key) {
        return map == null ? null : table.key(source, map, key instanceof String ? (String) key : String.valueOf(key), nowMs);
    }

    private void pack(SamplePack pack) {
        SamplerSeries series = samplerSeries(pack);
        if (series == null) {
            overLimit += pack.samples();
            return;
        }
        Source worker = source.source;
        workers.process(source.worker, series.process.pid(), series.process.startTimeMs());
        if (pack.lost() > 0) {
            losses.droppedBetween(DropReason.DROP_REASON_QUEUE_FULL, (long) pack.lost() * series.size(), pack.firstLostMs(), pack.lastLostMs(),
                    worker.host(), worker.port());
        }
        for (int sample = 0; sample < pack.samples(); sample++) {
            packed(series, pack, sample);
        }
    }

    private SamplerSeries samplerSeries(SamplePack pack) {
        if (source == null || source.sampler != null && source.sampler.isOf(pack)) {
            return source == null ? null : source.sampler;
        }
        if (source.sampler == null && !table.hasRoomFor(SAMPLER_METRIC, nowMs)) {
            return null;
        }
        int before = source.sampler == null ? 0 : source.sampler.size();
        source.sampler = new SamplerSeries(table, source.source, pack, source.sampler);
        table.hold(source, source.sampler.size() - before);
        return source.sampler;
    }

    private void packed(SamplerSeries series, SamplePack pack, int sample) {
        long at = pack.timeMs(sample);
        known(series.cpuUser, at, pack.cpuMs(sample));
        known(series.cpuSystem, at, pack.cpuSystemMs(sample));
        known(series.cpuTotal, at, pack.cpuMs(sample));
        known(series.heapUsed, at, pack.heapUsedBytes(sample));
        known(series.heapCommitted, at, pack.heapCommittedBytes(sample));
        known(series.heapLimit, at, pack.heapLimitBytes(sample));
        known(series.processStart, at, series.process.startTimeMs());
        for (int collector = 0; collector < series.gcCount.length; collector++) {
            known(series.gcCount[collector], at, pack.gcCount(sample, collector));
            known(series.gcTime[collector], at, pack.gcTimeMs(sample, collector));
        }
    }

    /** What the sampler could not read is left out; so is what its mode does not have. */
    private void known(Series series, long at, long value) {
        if (series != null && value != SamplePack.UNKNOWN) {
            offer(series, at, value);
        }
    }

    private void latencies(LatencyPack pack) {
        Name packs = source == null ? null : table.metric(source, LATENCY_METRIC, nowMs);
        for (LatencyPack.Distribution distribution : pack.distributions()) {
            Series series = latencySeries(packs, distribution);
            if (series == null) {
                overLimit++;
            } else if (!queue.offer(series, timeMs, LatencySamples.encode(pack, distribution, series.id(), timeMs))) {
                refused(timeMs);
            }
        }
    }

    private Series latencySeries(Name packs, LatencyPack.Distribution distribution) {
        Name name = key(packs, distribution.name());
        Name place = distribution.key().isEmpty() ? name : key(name, distribution.key());
        return place == null ? null : table.latencySeries(source, place, distribution.name(), distribution.key());
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
