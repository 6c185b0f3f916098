package io.github.bulletmetrics.storm.noharm;

import io.github.bulletmetrics.storm.StormMetricsConsumer;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.task.TopologyContext;

/**
 * The consumer of the finished jar in this JVM, and what it takes: the calling thread's CPU within handleDataPoints,
 * and the CPU of the threads that the plugin started.
 */
final class Plugin implements AutoCloseable {
    private static final com.sun.management.ThreadMXBean THREADS =
            (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final MemoryMXBean MEMORY = ManagementFactory.getMemoryMXBean();
    private static final com.sun.management.OperatingSystemMXBean PROCESS =
            (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final StormMetricsConsumer consumer = new StormMetricsConsumer();
    private final Set<Long> others = new HashSet<>();
    private final Map<Long, Long> cpuOfThreads = new HashMap<>();
    private final Map<Long, Long> bytesOfThreads = new HashMap<>();
    private final SampleQueue queue;
    private final Losses losses;
    private long callsNs;
    private long highWater;

    Plugin(String address) throws ReflectiveOperationException {
        for (long thread : THREADS.getAllThreadIds()) {
            others.add(thread);
        }
        consumer.prepare(Collections.singletonMap("topology.name", "bench"),
                Collections.singletonMap("bullet.topology.metrics.collector.address", address), context(), null);
        Object flattener = field(field(consumer, "pipeline"), "flattener");
        queue = (SampleQueue) field(flattener, "queue");
        losses = (Losses) field(flattener, "losses");
    }

    private static Object field(Object of, String name) throws ReflectiveOperationException {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }

    private static TopologyContext context() {
        Map<Integer, String> components = Layout.components();
        Map<String, List<Integer>> tasks = new HashMap<>();
        components.forEach((task, component) -> tasks.computeIfAbsent(component, unseen -> new ArrayList<>()).add(
                task));
        int consumer = components.size() + 1;
        components.put(consumer, "__metrics_bench");
        return new TopologyContext(new StormTopology(new HashMap<>(), new HashMap<>(), new HashMap<>()),
                new HashMap<>(), components, tasks, new HashMap<>(),
                new HashMap<>(), "bench-1-1700000000", "", "", consumer, 6700, Arrays.asList(consumer), new HashMap<>(),
                new HashMap<>(), new HashMap<>(),
                new HashMap<>(), new AtomicBoolean(false), null);
    }

    /** Hands over what a worker's tasks report at once, as Storm does. */
    void handle(List<Reports.Report> reports) {
        long before = THREADS.getCurrentThreadCpuTime();
        for (int i = 0; i < reports.size(); i++) {
            consumer.handleDataPoints(reports.get(i).task, reports.get(i).points);
        }
        callsNs += THREADS.getCurrentThreadCpuTime() - before;
        highWater = Math.max(highWater, queued());
    }

    /**
     * One call alone; how long it took.
     *
     * @return by the clock, and of the thread's CPU, which others on the machine do not lengthen; ns.
     */
    long[] handle(Reports.Report report) {
        long cpu = THREADS.getCurrentThreadCpuTime();
        long before = System.nanoTime();
        consumer.handleDataPoints(report.task, report.points);
        long took = System.nanoTime() - before;
        long ofCpu = THREADS.getCurrentThreadCpuTime() - cpu;
        callsNs += ofCpu;
        highWater = Math.max(highWater, queued());
        return new long[] {took, ofCpu};
    }

    /** CPU within handleDataPoints so far, ns. */
    long callsNs() {
        return callsNs;
    }

    /** A thread of the measuring itself, which is not the plugin's. */
    void ignore(Thread thread) {
        others.add(thread.getId());
    }

    /**
     * CPU of the plugin's threads so far, ns. To be asked often: a thread that has ended is known as it was last seen.
     */
    long threadsNs() {
        for (long thread : THREADS.getAllThreadIds()) {
            long cpu = others.contains(thread) ? -1 : THREADS.getThreadCpuTime(thread);
            if (cpu >= 0) {
                cpuOfThreads.merge(thread, cpu, Math::max);
            }
        }
        return cpuOfThreads.values().stream().mapToLong(Long::longValue).sum();
    }

    /** Bytes that the plugin's threads have allocated so far. To be asked often, as {@link #threadsNs}. */
    long threadsBytes() {
        for (long thread : THREADS.getAllThreadIds()) {
            long bytes = others.contains(thread) ? -1 : THREADS.getThreadAllocatedBytes(thread);
            if (bytes >= 0) {
                bytesOfThreads.merge(thread, bytes, Math::max);
            }
        }
        return bytesOfThreads.values().stream().mapToLong(Long::longValue).sum();
    }

    /** CPU of the whole process so far, compiling and collecting garbage included, ns. */
    static long processNs() {
        return PROCESS.getProcessCpuTime();
    }

    /** CPU of the calling thread so far, ns. */
    static long callerNs() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** Samples that wait or are under way. */
    long queued() {
        return queue.published() - queue.released();
    }

    /** Samples that were dropped so far, by the plugin's own count. */
    long dropped() {
        return losses.total();
    }

    long highWater() {
        return highWater;
    }

    /** Heap in use behind collections of garbage, bytes. */
    static long heapBytes() throws InterruptedException {
        for (int i = 0; i < 3; i++) {
            System.gc();
            Thread.sleep(100);
        }
        return MEMORY.getHeapMemoryUsage().getUsed();
    }

    /** Memory of buffers outside of the heap, bytes. */
    static long directBytes() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .mapToLong(BufferPoolMXBean::getMemoryUsed).sum();
    }

    /** Memory of classes and compiled code, bytes. */
    static long nonHeapBytes() {
        return MEMORY.getNonHeapMemoryUsage().getUsed();
    }

    @Override
    public void close() {
        consumer.cleanup();
    }
}
