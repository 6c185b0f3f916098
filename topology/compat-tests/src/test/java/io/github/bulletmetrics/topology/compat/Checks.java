package io.github.bulletmetrics.topology.compat;

import io.github.bulletmetrics.topology.compat.Collector.Point;
import io.github.bulletmetrics.topology.compat.Collector.Series;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** The checks of {@link Column}: each asks the collector by PromQL, and holds the answer to what is known otherwise. */
final class Checks {
    private static final String EVER = "[1h]";
    private static final double MIB = 1 << 20;
    /**
     * The sampler reads every second, 0.1 s before it is full; one that a pause of the JVM makes late counts for the
     * next slice.
     */
    private static final long OLDEST_CPU_MS = 1_100;
    /** The system counts user and system time in steps of 10 ms. */
    private static final double CPU_STEP_SECONDS = 0.02;
    private static final double LONGEST_LATENCY_SECONDS = 2;
    /** Of the mean of 400 times in whole milliseconds, at four standard errors. */
    private static final double SAMPLED_ERROR_SECONDS = 0.0001;

    /** The pauses of concurrent cycles, of which there need be none. */
    private static final String G1_CYCLES = "G1 Concurrent GC";
    /** From a bean since JDK 20, before from the JVM's counters, which JDK 8 does not have. */
    private static final int G1_CYCLES_SINCE = 11;

    private Checks() {
    }

    /**
     * Both modes, and their sum at each slice's end is what the operating system counted for the process when it was
     * last sampled.
     */
    static Cell cpu(Run run) throws IOException, InterruptedException {
        List<Series> modes = run.ask("bullet_worker_cpu_seconds_total{%s}[1m]");
        Set<String> names = modes.stream().map(mode -> mode.label("mode"))
                .collect(Collectors.toCollection(TreeSet::new));
        if (!names.equals(Set.of("system", "user"))) {
            return Cell.of(false, "modes %s", names);
        }
        TreeMap<Long, Double> stored = new TreeMap<>();
        modes.forEach(mode -> mode.points().forEach(point -> stored.merge(point.ms(), point.value(), Double::sum)));
        for (Map.Entry<Long, Double> slice : stored.entrySet()) {
            Optional<Double> least = run.jvm().cpuSecondsAtLeast(slice.getKey() - OLDEST_CPU_MS);
            Optional<Double> most = run.jvm().cpuSecondsAtMost(slice.getKey());
            if (least.isEmpty() || most.isEmpty()) {
                return Cell.of(false, "%.2f s; the operating system has no figure", slice.getValue());
            }
            if (slice.getValue() < least.get() - CPU_STEP_SECONDS || slice.getValue() > most.get() + CPU_STEP_SECONDS) {
                return Cell.of(false, "%.2f s; operating system: %.2f to %.2f s", slice.getValue(), least.get(),
                        most.get());
            }
        }
        double last = stored.lastEntry().getValue();
        return Cell.of(last > 1, "%.2f s; operating system: at most %.2f s", last,
                run.jvm().cpuSecondsAtMost(stored.lastKey()).get());
    }

    /** The limit is what the process was given. */
    static Cell heap(Run run) throws IOException, InterruptedException {
        double used = run.sum("bullet_worker_heap_used_bytes{%s}");
        double committed = run.sum("bullet_worker_heap_committed_bytes{%s}");
        double limit = run.sum("bullet_worker_heap_limit_bytes{%s}");
        return Cell.of(used > MIB && used <= committed && committed <= limit && limit == StormJvm.HEAP_MIB * MIB,
            "%.0f MiB used, %.0f MiB committed, limit %.0f MiB", used / MIB, committed / MIB, limit / MIB);
    }

    /** G1's collectors, by the same names on every Storm; the process makes garbage for both. */
    static Cell gc(Run run) throws IOException, InterruptedException {
        Map<String, String> found = new TreeMap<>();
        boolean ok = true;
        for (Series collector : run.ask("bullet_worker_gc_collections_total{%s}")) {
            double seconds = run.sum("bullet_worker_gc_seconds_total{%s,collector=\"" + collector.label("collector")
                    + "\"}");
            found.put(collector.label("collector"), String.format(Locale.ROOT, "%.0f in %.2f s", collector.value(),
                    seconds));
            ok &= collector.value() > 0 && seconds > 0 || collector.label("collector").equals(G1_CYCLES);
        }
        Set<String> names = new TreeSet<>(Set.of("G1 Old Generation", "G1 Young Generation"));
        if (run.setup().java().feature() >= G1_CYCLES_SINCE) {
            names.add(G1_CYCLES);
        }
        return Cell.of(ok && found.keySet().equals(names), "%s",
                text(found));
    }

    private static String text(Map<String, String> found) {
        return found.isEmpty() ? "none" : found.entrySet().stream().map(each -> each.getKey() + " " + each.getValue())
                .collect(Collectors.joining(", "));
    }

    /** Each metric that the release has, at the value that it was given. */
    static Cell bullet(Run run) throws IOException, InterruptedException {
        List<String> wrong = new ArrayList<>();
        Map<String, Double> expected = BulletFigures.of(run);
        for (Map.Entry<String, Double> figure : expected.entrySet()) {
            List<Series> found = run.ask(figure.getKey());
            if (found.isEmpty() || figure.getValue() != null
                    && Math.abs(found.get(0).value() - figure.getValue()) > 1e-9) {
                wrong.add(figure.getKey().replace("%s", "") + " is "
                        + (found.isEmpty() ? "missing" : found.get(0).value() + ", not " + figure.getValue()));
            }
        }
        return wrong.isEmpty() ? Cell.of(true, "%d metrics with the expected values", expected.size())
                : Cell.of(false, "%s", String.join("; ", wrong));
    }

    /** Emitted, transferred, executed and acked are what the topology did, to the tuple. */
    static Cell tuples(Run run) throws IOException, InterruptedException {
        Map<String, Double> found = new TreeMap<>();
        found.put("emitted", run.sum("storm_emitted_total{%s,component=\"DataSource\",stream=\"default\"}"));
        found.put("transferred", run.sum("storm_transferred_total{%s,component=\"DataSource\",stream=\"default\"}"));
        found.put("executed",
                run.sum("storm_executed_total{%s,component=\"FilterBolt\",source=\"DataSource\",stream=\"default\"}"));
        found.put("acked by the bolt",
                run.sum("storm_acked_total{%s,component=\"FilterBolt\",source=\"DataSource\",stream=\"default\"}"));
        found.put("acked to the spout",
                run.sum("storm_acked_total{%s,component=\"DataSource\",source=\"\",stream=\"default\"}"));
        if (run.truth().isEmpty()) {
            return Cell.of(false, "the topology has not reported its counts");
        }
        long records = run.truth().get().records();
        return Cell.of(found.values().stream().allMatch(count -> count == records), "%d records, %s", records,
            found.values().stream().allMatch(count -> count == records) ? "all 5 tuple counts equal" : "but " + found);
    }

    /**
     * Storm's means lie between what a record takes at least and what nothing here takes; our distributions have every
     * record and query. Every tuple is sampled here, so the hook times as many as Storm counts.
     */
    static Cell latencies(Run run) throws IOException, InterruptedException {
        double least = run.setup().whole() ? 0 : SmallBolts.EXECUTE_MS / 1000.0;
        String ofRecords = "{%s,component=\"FilterBolt\",source=\"DataSource\"}" + EVER;
        double execute = run.max("storm_execute_latency_seconds" + ofRecords);
        double process = run.max("storm_process_latency_seconds" + ofRecords);
        double complete = run.max("storm_complete_latency_seconds{%s,component=\"DataSource\"}" + EVER);
        if (run.truth().isEmpty()) {
            return Cell.of(false, "the topology has not reported its counts");
        }
        boolean ok = sane(least, execute) && sane(least, process) && sane(Math.max(least, 1e-6), complete);
        StringBuilder says = new StringBuilder(String.format(Locale.ROOT,
                "execute %.1f, process %.1f, complete %.1f ms", execute * 1000, process * 1000,
            complete * 1000));
        if (run.setup().hasHook()) {
            String ofFilter = "{%s,component=\"FilterBolt\"}";
            double samples = run.sum("bullet_execute_samples_total" + ofFilter);
            double mean = run.sum("bullet_execute_seconds_total" + ofFilter) / samples;
            ok &= samples == run.sum("storm_executed_total" + ofFilter) && sane(least - SAMPLED_ERROR_SECONDS, mean);
            says.append(String.format(Locale.ROOT, "; latency hook: execute %.2f ms over %.0f tuples", mean * 1000,
                    samples));
        }
        if (run.setup().hasHook() && run.setup().bullet().hasFilterLatency()) {
            double p99 = run.sum("histogram_quantile(0.99, sum(last_over_time(bullet_filter_latency_seconds{%s}" + EVER
                    + ")))");
            double count = run.sum("histogram_count(sum(last_over_time(bullet_filter_latency_seconds{%s}" + EVER
                    + ")))");
            ok &= count == run.truth().get().records() && sane(least, p99);
            says.append(String.format(Locale.ROOT, "; filter p99 %.1f ms over %.0f records", p99 * 1000, count));
        }
        if (run.setup().hasHook() && run.setup().bullet().from(0, 5, 0)) {
            double count = run.sum(
                    "histogram_count(sum(last_over_time(bullet_query_engine_latency_seconds{%s,outcome=\"complete\"}" + EVER + ")))");
            ok &= count == run.truth().get().queries();
            says.append(String.format(Locale.ROOT, "; %.0f queries", count));
        }
        return Cell.of(ok, "%s", says);
    }

    private static boolean sane(double least, double latency) {
        return latency >= least && latency < LONGEST_LATENCY_SECONDS;
    }

    /**
     * One worker, started again once; what it counts from 0 again goes on where it was, and no total has ever fallen.
     */
    static Cell restart(Run run) throws IOException, InterruptedException {
        List<Series> restarts = run.ask("bullet_worker_restarts_total{%s}");
        int totals = 0;
        List<String> fallen = new ArrayList<>();
        for (Series total : run.ask(
                "{__name__=~\".+_total|bullet_filter_latency_seconds|bullet_query_engine_latency_seconds\",%s}" + EVER)) {
            totals++;
            for (int i = 1; i < total.points().size(); i++) {
                if (total.points().get(i).value() < total.points().get(i - 1).value()) {
                    fallen.add(total.labels().toString());
                    break;
                }
            }
        }
        Cell tuples = tuples(run);
        Cell bullet = bullet(run);
        boolean ok = restarts.size() == 1 && restarts.get(0).value() == 1 && fallen.isEmpty() && totals > 20
                && tuples.ok() && bullet.ok();
        return Cell.of(ok, "restarts %s; %s; %s; %s",
                restarts.stream().map(each -> String.format(Locale.ROOT, "%.0f", each.value())).toList(), tuples.says(),
            fallen.isEmpty() ? "none of " + totals + " counters decreased" : "decreased: " + fallen, bullet.says());
    }
}
