package io.github.bulletmetrics.storm.jar;

import io.github.bulletmetrics.storm.StormMetricsConsumer;
import io.github.bulletmetrics.storm.WorkerSampler;
import java.io.IOException;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;
import org.apache.storm.metric.api.IMetricsConsumer.TaskInfo;

/**
 * A worker whose clock is set while it runs: the real sampler, a bolt and the metrics consumer, in a JVM under
 * libfaketime. It uses CPU, makes garbage and reports once a second. Arguments: the collector's address, the file from
 * which libfaketime reads how far the clock is off, and "REPORT=SECONDS": at that report the clock is set to be off by
 * so much; at the last one it ends. It prints what it used, and what the bolt counted in reports of a time that had
 * not come before: those of the newest whole second may be left out or not.
 */
public final class ClockMain {
    private static final long EXECUTED = 1_000;
    /** Reports at the end in which it does not work: the sampler takes its last samples in them. */
    private static final int IDLE_REPORTS = 3;
    private static volatile byte[] garbage;

    private ClockMain() {
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        Path clock = Paths.get(arguments[1]);
        Map<Long, String> steps = new HashMap<>();
        long reports = 0;
        for (String step : Arrays.copyOfRange(arguments, 2, arguments.length)) {
            reports = Long.parseLong(step.substring(0, step.indexOf('=')));
            steps.put(reports, step.substring(step.indexOf('=') + 1));
        }
        StormMetricsConsumer consumer = new StormMetricsConsumer();
        consumer.prepare(ExportMain.conf(),
                Collections.singletonMap("bullet.topology.metrics.collector.address", arguments[0]),
                ExportMain.context(), null);
        WorkerSampler sampler = new WorkerSampler();
        double cpuBefore = 0;
        long newest = 0;
        long least = 0;
        long most = 0;
        long before = System.currentTimeMillis() - TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
        for (long report = 1; report <= reports; report++) {
            if (report == reports - IDLE_REPORTS) {
                cpuBefore = cpu();
            }
            work(report < reports - IDLE_REPORTS);
            long seconds = System.currentTimeMillis() / 1000;
            report(consumer, sampler, seconds);
            least += seconds > newest ? EXECUTED : 0;
            most += seconds >= newest ? EXECUTED : 0;
            newest = Math.max(newest, seconds);
            if (steps.containsKey(report)) {
                set(clock, steps.get(report));
            }
        }
        long after = System.currentTimeMillis() - TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
        consumer.cleanup();
        long collections = 0;
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            collections += collector.getCollectionCount();
        }
        System.out.printf("cpu=%.3f..%.3f collections=%d executed=%d..%d off=%d%n", cpuBefore, cpu(), collections,
                least, most, Math.round((after - before) / 1e3));
    }

    /** What this process has used so far, s. */
    private static double cpu() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                .getProcessCpuTime() / 1e9;
    }

    /** Takes a second, half of it at work while there is work. */
    private static void work(boolean busy) throws InterruptedException {
        long begin = System.nanoTime();
        while (busy && System.nanoTime() - begin < TimeUnit.MILLISECONDS.toNanos(500)) {
            garbage = new byte[64 << 10];
        }
        TimeUnit.NANOSECONDS.sleep(begin + TimeUnit.SECONDS.toNanos(1) - System.nanoTime());
    }

    private static void report(StormMetricsConsumer consumer, WorkerSampler sampler, long seconds) {
        consumer.handleDataPoints(new TaskInfo("worker-1", 6700, "FilterBolt", 3, seconds, 1),
                Collections.singletonList(new DataPoint("__execute-count",
                Collections.singletonMap("DataSource:default", EXECUTED))));
        Object pack = sampler.getValueAndReset();
        if (pack != null) {
            consumer.handleDataPoints(new TaskInfo("worker-1", 6700, "__system", -1, seconds, 1),
                    Collections.singletonList(new DataPoint("bullet-metrics.sampler", pack)));
        }
    }

    /** libfaketime reads the file at every look at the clock: it is never half written. */
    private static void set(Path clock, String seconds) throws IOException {
        Path next = clock.resolveSibling("clock.next");
        Files.write(next, seconds.getBytes(StandardCharsets.US_ASCII));
        Files.move(next, clock, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }
}
