package io.github.bulletmetrics.storm.noharm;

import java.lang.management.ManagementFactory;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * What the consumer of 1,162 executors takes at the intervals of register() while a collector is hostile, in this JVM;
 * prints a row.
 *
 * <p>Warmed up on the same collector until the queue is full, so that what is measured is the state that lasts. The CPU
 * is that of the whole process less what this program takes to make the reports: compiling, collecting garbage and the
 * control (0.15% of a core) count as the plugin's.
 */
public final class HostileCell {
    private static final long WARM_UP_MS = 1_000 * Math.min(15, Bench.SECONDS.orElse(15));
    private static final int TICKS = Math.max(1, Bench.SECONDS.orElse(30) / Intervals.REGISTER.seconds);
    /** As many calls as a worker's report makes. */
    private static final int CALLS_OF_A_WORKER = Layout.EXECUTORS / Layout.WORKERS + 1;
    private static final Intervals INTERVALS = Intervals.REGISTER;
    private static final long STEP_NS = TimeUnit.SECONDS.toNanos(INTERVALS.seconds) / Layout.WORKERS;
    private static final double MIB = 1 << 20;
    private static final double P999 = 0.999;

    private HostileCell() {
    }

    /**
     * Measures.
     *
     * @param arguments what the collector does, a capture of Storm 2.8, its address.
     */
    public static void main(String[] arguments) throws Exception {
        Reports reports = new Reports(new Shapes(Paths.get(arguments[1])), INTERVALS, false);
        warmReports(reports);
        // What is measured takes heap too, over an hour twice what the plugin may: it is there before that is looked
        // at.
        long[][] latencies = new long[2][TICKS * (Layout.EXECUTORS + Layout.WORKERS)];
        Control control = new Control(TICKS * Layout.WORKERS, STEP_NS, CALLS_OF_A_WORKER);
        long heapBefore = Plugin.heapBytes();
        try (Plugin plugin = new Plugin(arguments[2])) {
            tick(plugin, reports, System.currentTimeMillis() / 1_000 - 7_200);
            long heapAtStart = Plugin.heapBytes() - heapBefore;
            long seconds = warmUp(plugin, reports);
            awaitDrained(plugin, arguments[0]);
            int count = 0;
            long threads = plugin.threadsNs();
            long calls = plugin.callsNs();
            long process = Plugin.processNs();
            long caller = Plugin.callerNs();
            long began = System.nanoTime();
            control.start(plugin);
            for (int tick = 0; tick < TICKS; tick++) {
                seconds += INTERVALS.seconds;
                count = realTick(plugin, reports, seconds, latencies, count);
            }
            double took = System.nanoTime() - began;
            double inCalls = plugin.callsNs() - calls;
            double inThreads = plugin.threadsNs() - threads;
            double atMost = Plugin.processNs() - process - (Plugin.callerNs() - caller) + inCalls;
            double load = ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
            long heap = Plugin.heapBytes() - heapBefore;
            long[][] ofControl = control.took();
            for (long[] sorted : latencies) {
                Arrays.sort(sorted, 0, count);
            }
            long queued = plugin.queued();
            long dropped = plugin.dropped();
            double[] throughput = throughput(plugin, reports, seconds);
            System.out.printf(Locale.ROOT,
                    "| %s | %.2f%% | %.2f%% | %.3f | %.3f | %.3f | %.3f | %,.0f (%,.0f to %,.0f) | %,d | %.1f | %.1f | %.0f |%n",
                    arguments[0],
                    100 * (inCalls + inThreads) / took, 100 * atMost / took, p999Ms(latencies[1], count),
                    p999Ms(ofControl[1], ofControl[1].length),
                    p999Ms(latencies[0], count), p999Ms(ofControl[0], ofControl[0].length),
                    throughput[0], throughput[1], throughput[2], queued, heapAtStart / MIB, (heap - heapAtStart) / MIB,
                    load);
            // For programs that hold it to limits: parts per million of a core, nanoseconds, bytes, samples.
            System.err.printf(Locale.ROOT,
                    "tally: core_ppm=%d call_p999_ns=%d control_p999_ns=%d heap_growth_bytes=%d queued=%d dropped=%d seconds=%d%n",
                    (long) (1e6 * (inCalls + inThreads) / took), (long) (1e6 * p999Ms(latencies[1], count)),
                    (long) (1e6 * p999Ms(ofControl[1], ofControl[1].length)),
                    heap - heapAtStart, queued, dropped, (long) (took / 1e9));
        }
    }

    private static double p999Ms(long[] sorted, int count) {
        return sorted[(int) (count * P999)] / 1e6;
    }

    /** So that making reports is compiled, and its classes are loaded, before the heap is looked at. */
    private static void warmReports(Reports reports) {
        for (int worker = 0; worker < Layout.WORKERS; worker++) {
            reports.tick(worker, worker);
        }
    }

    private static long warmUp(Plugin plugin, Reports reports) {
        long began = System.nanoTime();
        long seconds = System.currentTimeMillis() / 1_000 - 3_600;
        while (System.nanoTime() - began < TimeUnit.MILLISECONDS.toNanos(WARM_UP_MS)) {
            seconds += INTERVALS.seconds;
            tick(plugin, reports, seconds);
            plugin.threadsNs();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
        }
        return seconds;
    }

    private static void tick(Plugin plugin, Reports reports, long seconds) {
        for (int worker = 0; worker < Layout.WORKERS; worker++) {
            plugin.handle(reports.tick(worker, seconds));
        }
    }

    /** A good collector has first to take what the warm-up left. */
    private static void awaitDrained(Plugin plugin, String collector) {
        while (collector.equals(Hostile.WELL) && plugin.queued() > 0) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
        }
    }

    private static int realTick(Plugin plugin, Reports reports, long seconds, long[][] latencies, int from) {
        int count = from;
        long began = System.nanoTime();
        List<Reports.Report> due = reports.tick(0, seconds);
        for (int worker = 0; worker < Layout.WORKERS; worker++) {
            for (Reports.Report report : due) {
                long[] took = plugin.handle(report);
                latencies[0][count] = took[0];
                latencies[1][count++] = took[1];
            }
            plugin.threadsNs();
            // Made before the wait, so that the calls come first after it, as the control's work does.
            due = reports.tick((worker + 1) % Layout.WORKERS, seconds);
            while (System.nanoTime() - began < STEP_NS * (worker + 1)) {
                LockSupport.parkNanos(began + STEP_NS * (worker + 1) - System.nanoTime());
            }
        }
        return count;
    }

    /** Calls a second of CPU time of the calling thread, one upon the other: median, least and most of the rounds. */
    private static double[] throughput(Plugin plugin, Reports reports, long seconds) {
        List<Reports.Report> tick = reports.tick(0, seconds + INTERVALS.seconds);
        double[] rounds = new double[21];
        for (int round = 0; round < rounds.length; round++) {
            long before = plugin.callsNs();
            int calls = 0;
            while (calls < 2_000) {
                plugin.handle(tick);
                calls += tick.size();
            }
            rounds[round] = calls * 1e9 / (plugin.callsNs() - before);
        }
        Arrays.sort(rounds);
        return new double[] {rounds[rounds.length / 2], rounds[0], rounds[rounds.length - 1]};
    }
}
