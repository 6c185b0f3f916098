package io.github.bulletmetrics.storm.flatten;

import io.github.bulletmetrics.storm.proto.v1.Shape;
import io.github.bulletmetrics.storm.proto.v1.Temporality;
import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.Series;
import io.github.bulletmetrics.storm.queue.Source;
import io.github.bulletmetrics.storm.sampler.CpuMode;
import io.github.bulletmetrics.storm.sampler.SamplePack;
import io.github.bulletmetrics.storm.sampler.Sampler;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The series of one worker's sampler, and to which value of a pack each of them belongs. They keep their ids when the
 * worker's process is replaced.
 */
final class SamplerSeries {
    // Values of a pack's sample; those of its collectors follow, two each.
    private static final int CPU = 0;
    private static final int CPU_SYSTEM = 1;
    private static final int HEAP_USED = 2;
    private static final int HEAP_COMMITTED = 3;
    private static final int HEAP_LIMIT = 4;
    private static final int PROCESS_START = 5;
    private static final int COLLECTORS = 6;

    final SamplePack.Process process;
    /** The columns of a pack as a block. */
    final Layout layout;
    /**
     * The columns of the host in a sample that has them, as a block of one row; null where the machine does not have
     * them.
     */
    final Layout host;

    private final byte[] processHead;
    private final Map<String, Series> known;
    /** The value of each column. */
    private final int[] values;

    /**
     * @param pack a pack of the process.
     * @param before the series of the process before at the same place; null when there was none.
     */
    SamplerSeries(SeriesTable table, Source source, SamplePack pack, SamplerSeries before) {
        process = pack.process();
        processHead = pack.processHead();
        known = before == null ? new HashMap<>() : before.known;
        Map<Series, Integer> columns = new LinkedHashMap<>();
        List<String> none = Collections.emptyList();
        if (process.cpuMode() == CpuMode.USER_AND_SYSTEM) {
            columns.put(counter(table, source, "cpu.user_ms", none), CPU);
            columns.put(counter(table, source, "cpu.system_ms", none), CPU_SYSTEM);
        } else {
            columns.put(counter(table, source, "cpu.total_ms", none), CPU);
        }
        columns.put(gauge(table, source, "heap.used_bytes"), HEAP_USED);
        columns.put(gauge(table, source, "heap.committed_bytes"), HEAP_COMMITTED);
        columns.put(gauge(table, source, "heap.limit_bytes"), HEAP_LIMIT);
        columns.put(gauge(table, source, "process.start_time_ms"), PROCESS_START);
        for (int i = 0; i < process.collectors().size(); i++) {
            // Two of one name would be one series with two values a time: the first one's are taken.
            List<String> collector = Collections.singletonList(process.collectors().get(i));
            columns.putIfAbsent(counter(table, source, "gc.count", collector), COLLECTORS + 2 * i);
            columns.putIfAbsent(counter(table, source, "gc.time_ms", collector), COLLECTORS + 2 * i + 1);
        }
        layout = layout(table, columns.keySet(), before == null ? null : before.layout);
        host = process.hasHost() ? layout(table, host(table, source), before == null ? null : before.host) : null;
        values = columns.values().stream().mapToInt(Integer::intValue).toArray();
    }

    private List<Series> host(SeriesTable table, Source source) {
        List<Series> columns = new ArrayList<>();
        for (String mode : SamplePack.HOST_MODES) {
            columns.add(series(table, source, "host.cpu_ms", Collections.singletonList(mode),
                    Temporality.TEMPORALITY_CUMULATIVE, Sampler.HOST_INTERVAL_MS));
        }
        columns.add(series(table, source, "host.cpu_cores", Collections.emptyList(), Temporality.TEMPORALITY_GAUGE,
                Sampler.HOST_INTERVAL_MS));
        return columns;
    }

    private static Layout layout(SeriesTable table, Collection<Series> columns, Layout before) {
        Series[] series = columns.toArray(new Series[0]);
        boolean same = before != null && before.columns() == series.length;
        for (int column = 0; same && column < series.length; column++) {
            same = before.series(column) == series[column];
        }
        return same ? before : table.layout(series);
    }

    /** Whether a pack is of the same process. */
    boolean isOf(SamplePack pack) {
        return pack.isOf(processHead);
    }

    /** How many series there are, those of the processes before included. */
    int size() {
        return known.size();
    }

    /**
     * How many samples are lost with those of a pack that were: the host's come with one of them in each of its
     * intervals.
     */
    long lost(SamplePack pack) {
        long samples = (long) pack.lost() * layout.columns();
        if (host != null && pack.lost() > 0) {
            samples += host.columns() * (Sampler.hostTurn(pack.lastLostMs()) - Sampler.hostTurn(
                    pack.firstLostMs() - Sampler.INTERVAL_MS));
        }
        return samples;
    }

    /** A column's value in a sample of a pack; {@link SamplePack#UNKNOWN} where it could not be read. */
    long value(SamplePack pack, int sample, int column) {
        int value = values[column];
        switch (value) {
            case CPU:
                return pack.cpuMs(sample);
            case CPU_SYSTEM:
                return pack.cpuSystemMs(sample);
            case HEAP_USED:
                return pack.heapUsedBytes(sample);
            case HEAP_COMMITTED:
                return pack.heapCommittedBytes(sample);
            case HEAP_LIMIT:
                return pack.heapLimitBytes(sample);
            case PROCESS_START:
                return process.startTimeMs();
            default:
                int collector = (value - COLLECTORS) / 2;
                return (value - COLLECTORS) % 2 == 0 ? pack.gcCount(sample, collector)
                        : pack.gcTimeMs(sample, collector);
        }
    }

    private Series counter(SeriesTable table, Source source, String name, List<String> key) {
        return series(table, source, name, key, Temporality.TEMPORALITY_CUMULATIVE, Sampler.INTERVAL_MS);
    }

    private Series gauge(SeriesTable table, Source source, String name) {
        return series(table, source, name, Collections.emptyList(), Temporality.TEMPORALITY_GAUGE, Sampler.INTERVAL_MS);
    }

    /** The source's interval is that of the packs. */
    private Series series(SeriesTable table, Source source, String name, List<String> key, Temporality temporality,
            int intervalMs) {
        return known.computeIfAbsent(name + '\n' + key, absent -> new Series(table.nextId(), source, name, key,
                Shape.SHAPE_SAMPLER,
                temporality, intervalMs, source.intervalMs()));
    }
}
