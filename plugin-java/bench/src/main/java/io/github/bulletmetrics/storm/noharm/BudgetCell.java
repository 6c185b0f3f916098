package io.github.bulletmetrics.storm.noharm;

import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * What the consumer takes for 1,162 executors, for one Storm's shapes at one set of intervals, in this JVM; prints a
 * row.
 *
 * <p>First a worker's worth of ticks one upon the other, so that what is measured is compiled as it is in a worker that
 * has run for a while; then ticks in real time, the workers' evenly over the interval, of each of which the CPU is
 * taken.
 */
public final class BudgetCell {
    private static final int WARM_UP_TICKS = 60;
    private static final double MIB = 1 << 20;

    private BudgetCell() {
    }

    /**
     * Measures.
     *
     * @param arguments name of the shapes, capture, {@link Intervals}, how many ticks, the collector's address.
     */
    public static void main(String[] arguments) throws Exception {
        Intervals intervals = Intervals.valueOf(arguments[2]);
        Reports reports = new Reports(new Shapes(Paths.get(arguments[1])), intervals, arguments[0].equals("2.2"));
        long numbers = 0;
        for (int worker = 0; worker < Layout.WORKERS; worker++) {
            numbers += reports.tick(worker, 0).stream().mapToLong(reports::numbers).sum();
        }
        long heapBefore = Plugin.heapBytes();
        long directBefore = Plugin.directBytes();
        long nonHeapBefore = Plugin.nonHeapBytes();
        try (Plugin plugin = new Plugin(arguments[4])) {
            long seconds = warmUp(plugin, reports, intervals);
            List<Double> cores = new ArrayList<>();
            List<Double> inCalls = new ArrayList<>();
            for (int tick = 0; tick < Integer.parseInt(arguments[3]); tick++) {
                long calls = plugin.callsNs();
                long threads = plugin.threadsNs();
                seconds += intervals.seconds;
                realTick(plugin, reports, intervals, seconds);
                double interval = TimeUnit.SECONDS.toNanos(intervals.seconds);
                inCalls.add((plugin.callsNs() - calls) / interval);
                cores.add((plugin.callsNs() - calls + plugin.threadsNs() - threads) / interval);
            }
            long heap = Plugin.heapBytes() - heapBefore;
            long direct = Plugin.directBytes() - directBefore;
            System.out.printf(Locale.ROOT, "| %s | %s | %,d | %.4f | %.4f | %.1f | %.1f | %.1f | %,d |%n", arguments[0],
                    intervals, numbers, median(cores), median(inCalls),
                    heap / MIB, direct / MIB, (Plugin.nonHeapBytes() - nonHeapBefore) / MIB, plugin.highWater());
        }
    }

    private static long warmUp(Plugin plugin, Reports reports, Intervals intervals) {
        long seconds = System.currentTimeMillis() / 1_000 - (long) (WARM_UP_TICKS + 1) * intervals.seconds;
        for (int tick = 0; tick < WARM_UP_TICKS; tick++) {
            seconds += intervals.seconds;
            for (int worker = 0; worker < Layout.WORKERS; worker++) {
                plugin.handle(reports.tick(worker, seconds));
            }
            while (plugin.queued() > 0) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
            }
        }
        return seconds;
    }

    private static void realTick(Plugin plugin, Reports reports, Intervals intervals, long seconds) {
        long began = System.nanoTime();
        long step = TimeUnit.SECONDS.toNanos(intervals.seconds) / Layout.WORKERS;
        int shortTicks = 0;
        for (int worker = 0; worker < Layout.WORKERS; worker++) {
            int due = (int) ((System.nanoTime() - began) / TimeUnit.SECONDS.toNanos(intervals.activeQueriesSeconds));
            for (; shortTicks <= due; shortTicks++) {
                for (int other = 0; other < Layout.WORKERS; other++) {
                    plugin.handle(reports.shortTick(other,
                            seconds + (long) shortTicks * intervals.activeQueriesSeconds));
                }
            }
            plugin.handle(reports.tick(worker, seconds));
            plugin.threadsNs();
            while (System.nanoTime() - began < step * (worker + 1)) {
                LockSupport.parkNanos(began + step * (worker + 1) - System.nanoTime());
            }
        }
    }

    private static double median(List<Double> values) {
        Collections.sort(values);
        return values.get(values.size() / 2);
    }
}
