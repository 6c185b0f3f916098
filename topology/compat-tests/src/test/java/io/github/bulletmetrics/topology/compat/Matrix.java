package io.github.bulletmetrics.topology.compat;

import io.github.bulletmetrics.topology.compat.Collector.Series;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** The finished plugin on one Storm after the other, all of them reporting to one collector. */
final class Matrix {
    private static final String UNKNOWN = "bullet_metrics_feed_unknown_series{store=\"embedded\"}";

    /** Each waits most of its time. */
    private static final int AT_ONCE = 2;

    private final Map<Setup, Map<Column, Cell>> rows = new LinkedHashMap<>();
    private final Map<Setup, Set<String>> found = new LinkedHashMap<>();
    private double unknown;

    private record Row(Map<Column, Cell> cells, Set<String> names) {
    }

    private Matrix() {
    }

    /**
     * Runs it.
     *
     * @param lifeLimitMs how long each start of a Storm has for all its ticks.
     */
    static Matrix of(List<Setup> setups, Path folder, long lifeLimitMs, Progress progress) throws Exception {
        Matrix matrix = new Matrix();
        ExecutorService threads = Executors.newFixedThreadPool(AT_ONCE);
        try (Collector collector = new Collector(folder)) {
            Map<Setup, Future<Row>> begun = new LinkedHashMap<>();
            setups.forEach(setup -> begun.put(setup,
                    threads.submit(() -> row(setup, collector, folder, lifeLimitMs, progress))));
            for (Setup setup : setups) {
                Row row = begun.get(setup).get();
                matrix.rows.put(setup, row.cells());
                matrix.found.put(setup, row.names());
            }
            matrix.unknown = collector.figure(UNKNOWN);
        } finally {
            threads.shutdownNow();
        }
        return matrix;
    }

    private static Row row(Setup setup, Collector collector, Path folder, long lifeLimitMs, Progress progress)
            throws IOException, InterruptedException {
        Path own = Files.createDirectories(folder.resolve(setup.topology()));
        try (Run run = new Run(setup, collector, own)) {
            return new Row(run.cells(lifeLimitMs, progress), names(run));
        }
    }

    /**
     * Without what the collector reports of the samples themselves, and what its rules record (a colon) or fire
     * (ALERTS: whether one pends is chance); and a slice's extremes go with its mean.
     */
    private static Set<String> names(Run run) throws IOException, InterruptedException {
        Set<String> names = new TreeSet<>();
        for (Series series : run.ask("group by (__name__) (last_over_time({%s}[1h]))")) {
            names.add(series.label("__name__"));
        }
        names.removeIf(name -> name.startsWith("bullet_metrics_") || name.startsWith("ALERTS") || name.contains(":")
            || name.matches(".*_(min|max)(_[a-z]+)?(_per_second)?"));
        return names;
    }

    Map<Setup, Map<Column, Cell>> rows() {
        return rows;
    }

    Names names() {
        return new Names(found);
    }

    /** Series that are not in the catalog. */
    double unknown() {
        return unknown;
    }

    boolean isAllTicked() {
        return unknown == 0 && rows.values().stream().allMatch(row -> row.size() == Column.values().length
                && row.values().stream().allMatch(Cell::ok))
            && rows.keySet().stream().allMatch(row -> names().check(row).ok());
    }
}
