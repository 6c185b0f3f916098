package io.github.bulletmetrics.storm.noharm;

import java.nio.file.Path;
import java.nio.file.Paths;

/** The four cells, each in a JVM of its own, beside a real collector. */
public final class Budget {
    private static final int TICKS_OF_60_S = 3;
    private static final int TICKS_OF_10_S = 9;

    private Budget() {
    }

    /**
     * Prints the table.
     *
     * @param arguments the collector's program, the directory of captures.
     */
    public static void main(String[] arguments) throws Exception {
        Path captures = Paths.get(arguments[1]);
        System.out.println("| shapes of Storm | intervals | numbers a tick | cores in all | of which in handleDataPoints | heap MiB | direct MiB | classes and code MiB | queue's high water |");
        System.out.println("|---|---|---|---|---|---|---|---|---|");
        System.out.println("| the document's budget | | | 0.4 | | 512 in all | | | |");
        System.out.println("| the goal | | | 0.02 | | 32 in all | | | |");
        for (Intervals intervals : Intervals.values()) {
            cell("2.2", captures.resolve("capture-storm-2.2.0.jsonl"), intervals, arguments[0]);
            cell("2.8", captures.resolve("capture-storm-2.8.4.jsonl"), intervals, arguments[0]);
        }
    }

    private static void cell(String storm, Path capture, Intervals intervals, String program) throws Exception {
        int ticks = Bench.SECONDS.isPresent() ? Math.max(1, Bench.SECONDS.getAsInt() / intervals.seconds)
                : intervals == Intervals.DOCUMENT ? TICKS_OF_60_S : TICKS_OF_10_S;
        try (Collector collector = Collector.real(Paths.get(program))) {
            Jvm.run("-Xmx512m", BudgetCell.class, storm, capture.toString(), intervals.name(), Integer.toString(ticks),
                    collector.address());
        }
    }
}
