package io.github.bulletmetrics.topology.compat;

import io.github.bulletmetrics.topology.compat.Collector.Series;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * One row of the matrix while it comes about: a Storm is started, asked about, killed, started again and asked again.
 */
final class Run implements AutoCloseable {
    private static final Set<Column> FIRST_LIFE = EnumSet.complementOf(EnumSet.of(Column.RESTART));

    private final Setup setup;
    private final Collector collector;
    private final Path folder;
    private final Map<Column, Cell> cells = new EnumMap<>(Column.class);
    private StormJvm jvm;
    /** Of the lives that have ended. */
    private Truth before = new Truth(0, 0);
    private int lives;

    Run(Setup setup, Collector collector, Path folder) {
        this.setup = setup;
        this.collector = collector;
        this.folder = folder;
    }

    Setup setup() {
        return setup;
    }

    StormJvm jvm() {
        return jvm;
    }

    /** How often the worker has been started. */
    int lives() {
        return lives;
    }

    /** What the topology has done in all its lives; none as long as the present one has not said so. */
    Optional<Truth> truth() {
        return jvm.truth().map(before::plus);
    }

    /** Asks PromQL, with the topology's label for %s. */
    List<Series> ask(String promql) throws IOException, InterruptedException {
        return collector.ask(promql.replace("%s", "topology=\"" + setup.topology() + "\""));
    }

    /** The sum of an instant vector; NaN of none. */
    double sum(String promql) throws IOException, InterruptedException {
        return ask(promql).stream().mapToDouble(Series::value).reduce(Double::sum).orElse(Double.NaN);
    }

    /** The largest sample of a range; NaN of none. */
    double max(String range) throws IOException, InterruptedException {
        return ask(range).stream().flatMap(series -> series.points().stream()).mapToDouble(Collector.Point::value)
                .reduce(Math::max).orElse(Double.NaN);
    }

    /**
     * Makes every cell; returns when all are ticked, or were not within the time.
     *
     * @param limitMs of each of the two lives.
     */
    Map<Column, Cell> cells(long limitMs, Progress progress) throws IOException, InterruptedException {
        if (setup.registration() == Registration.SNIPPET) {
            paste();
        }
        progress.say(setup, "started");
        start();
        await(FIRST_LIFE, limitMs, progress);
        if (!jvm.isAlive()) {
            cells.put(Column.RESTART, Cell.of(false, "not checked: the first process had ended"));
            return cells;
        }
        before = truth().orElse(before);
        jvm.close();
        progress.say(setup, "killed with -9 and started again");
        start();
        await(EnumSet.of(Column.RESTART), limitMs, progress);
        return cells;
    }

    /** What the user is asked to paste into storm.yaml, put there. */
    private void paste() throws IOException, InterruptedException {
        Process snippet = new ProcessBuilder(Collector.binary().toString(), "storm", "snippet", "--plain", "--storm",
                setup.storm(), "--address",
            collector.grpc()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Files.writeString(folder.resolve("storm.yaml"), new String(snippet.getInputStream().readAllBytes(),
                StandardCharsets.UTF_8));
        if (!snippet.waitFor(10, TimeUnit.SECONDS) || snippet.exitValue() != 0) {
            throw new IOException("bullet-metrics storm snippet --storm " + setup.storm() + " failed");
        }
    }

    private void start() throws IOException {
        jvm = new StormJvm(setup, folder, collector.grpc());
        jvm.onExit(collector.events()::happened);
        lives++;
    }

    /** Looks at the columns whenever slices have closed. */
    private void await(Set<Column> columns, long limitMs, Progress progress) throws IOException, InterruptedException {
        long limit = System.currentTimeMillis() + limitMs;
        Set<Column> open = EnumSet.copyOf(columns);
        long seen = 0;
        while (!open.isEmpty() && jvm.isAlive() && System.currentTimeMillis() < limit) {
            seen = collector.events().await(seen, limit - System.currentTimeMillis());
            for (Column column : columns) {
                Cell cell = column.check(this);
                cells.put(column, cell);
                // A cell that was right has to be so at the end as well.
                if (cell.ok() ? open.remove(column) : open.add(column)) {
                    progress.say(setup, (cell.ok() ? "✓ " : "✗ ") + column.title() + ": " + cell.says());
                }
            }
        }
        for (Column column : columns) {
            cells.putIfAbsent(column, Cell.of(false, "not checked: the process ended"));
        }
        if (!open.isEmpty()) {
            open.forEach(column -> progress.say(setup, "✗ " + column.title() + ": " + cells.get(column).says()));
            progress.say(setup, jvm.isAlive() ? "out of time" : "the process has ended");
            progress.say(setup, jvm.tail());
        }
    }

    @Override
    public void close() {
        if (jvm != null) {
            jvm.close();
        }
    }
}
