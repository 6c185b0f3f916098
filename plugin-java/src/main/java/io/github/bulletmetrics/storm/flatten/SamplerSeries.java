package io.github.bulletmetrics.storm.flatten;

import io.github.bulletmetrics.storm.proto.v1.Shape;
import io.github.bulletmetrics.storm.proto.v1.Temporality;
import io.github.bulletmetrics.storm.queue.Series;
import io.github.bulletmetrics.storm.queue.Source;
import io.github.bulletmetrics.storm.sampler.CpuMode;
import io.github.bulletmetrics.storm.sampler.SamplePack;
import io.github.bulletmetrics.storm.sampler.Sampler;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The series of one worker's sampler. They keep their ids when the worker's process is another. */
final class SamplerSeries {
    final Series cpuUser;
    final Series cpuSystem;
    final Series cpuTotal;
    final Series heapUsed;
    final Series heapCommitted;
    final Series heapLimit;
    final Series processStart;
    final Series[] gcCount;
    final Series[] gcTime;
    final SamplePack.Process process;

    private final byte[] processHead;
    private final Map<String, Series> known;

    /**
     * @param pack a pack of the process.
     * @param before the series of the process before at the same place; null when there was none.
     */
    SamplerSeries(SeriesTable table, Source source, SamplePack pack, SamplerSeries before) {
        process = pack.process();
        processHead = pack.processHead();
        known = before == null ? new HashMap<>() : before.known;
        boolean split = process.cpuMode() == CpuMode.USER_AND_SYSTEM;
        List<String> none = Collections.emptyList();
        cpuUser = split ? counter(table, source, "cpu.user_ms", none) : null;
        cpuSystem = split ? counter(table, source, "cpu.system_ms", none) : null;
        cpuTotal = split ? null : counter(table, source, "cpu.total_ms", none);
        heapUsed = gauge(table, source, "heap.used_bytes");
        heapCommitted = gauge(table, source, "heap.committed_bytes");
        heapLimit = gauge(table, source, "heap.limit_bytes");
        processStart = gauge(table, source, "process.start_time_ms");
        int collectors = process.collectors().size();
        gcCount = new Series[collectors];
        gcTime = new Series[collectors];
        for (int i = 0; i < collectors; i++) {
            List<String> collector = Collections.singletonList(process.collectors().get(i));
            gcCount[i] = counter(table, source, "gc.count", collector);
            gcTime[i] = counter(table, source, "gc.time_ms", collector);
        }
    }

    /** Whether a pack is of the same process. */
    boolean isOf(SamplePack pack) {
        return pack.isOf(processHead);
    }

    /** How many series there are, those of the processes before included. */
    int size() {
        return known.size();
    }

    private Series counter(SeriesTable table, Source source, String name, List<String> key) {
        return series(table, source, name, key, Temporality.TEMPORALITY_CUMULATIVE);
    }

    private Series gauge(SeriesTable table, Source source, String name) {
        return series(table, source, name, Collections.emptyList(), Temporality.TEMPORALITY_GAUGE);
    }

    /** The source's interval is that of the packs. */
    private Series series(SeriesTable table, Source source, String name, List<String> key, Temporality temporality) {
        return known.computeIfAbsent(name + '\n' + key, absent -> new Series(table.nextId(), source, name, key, Shape.SHAPE_SAMPLER,
                temporality, Sampler.INTERVAL_MS, source.intervalMs()));
    }
}
