package io.github.bulletmetrics.storm.noharm;

import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * How long Storm's thread is in handleDataPoints for what a tenth of the workers of 1,162 executors report at a tick:
 * our consumer, beside Storm's own. {@link Ratios} runs it.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.SingleShotTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 150)
@Measurement(iterations = 50)
@Fork(1)
public class ConsumerBenchmark {
    static final String OURS = "ours";
    static final String LOGGING = "LoggingMetricsConsumer 2.8.3";
    static final String LOGGING_1 = "LoggingMetricsConsumer 1.2.4";
    static final String HTTP_1 = "HttpForwardingMetricsConsumer 1.2.4";
    /** So few that the code is compiled after a second or two. */
    private static final int WORKERS = Layout.WORKERS / 10;
    private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(60);
    private static final com.sun.management.ThreadMXBean THREADS =
            (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** What the calling thread took, which others on the machine do not lengthen. */
    @AuxCounters(AuxCounters.Type.EVENTS)
    @State(Scope.Thread)
    public static class OfThread {
        /** CPU, ns. */
        public long cpuNs;
        /** Allocated, bytes. */
        public long bytes;
        /** Calls of handleDataPoints. */
        public long calls;
        /** Ticks of a tenth of the workers. */
        public long ticks;
        /** CPU of the calling thread and of the threads that the consumer started, since the tick before, ns. */
        public long allCpuNs;
        /** Allocated by them, bytes. */
        public long allBytes;
    }

    /** The consumer. */
    @Param({OURS, LOGGING, LOGGING_1, HTTP_1})
    public String consumer;

    private Reports reports;
    private Collector collector;
    private Plugin plugin;
    private StormsConsumer storms;
    private HttpServer http;
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private long threadsNs;
    private long threadsBytes;
    private long seconds = System.currentTimeMillis() / 1_000;
    private final List<List<Reports.Report>> tick = new ArrayList<>();
    private final List<List<Object[]>> calls = new ArrayList<>();

    /** Starts it and what it talks to. */
    @Setup
    public void start() throws Exception {
        reports = new Reports(new Shapes(Paths.get(System.getProperty("captures"), "capture-storm-2.8.4.jsonl")),
                Intervals.REGISTER, false);
        File storm1 = new File(System.getProperty("storm1", ""));
        switch (consumer) {
            case OURS:
                collector = Collector.real(Paths.get(System.getProperty("collector")));
                plugin = new Plugin(collector.address());
                break;
            case LOGGING:
                storms = new StormsConsumer(null, "org.apache.storm.metric.LoggingMetricsConsumer", null);
                break;
            case LOGGING_1:
                storms = new StormsConsumer(storm1, "org.apache.storm.metric.LoggingMetricsConsumer", null);
                break;
            default:
                http = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0);
                http.createContext("/", exchange -> {
                    byte[] body = new byte[1 << 13];
                    try (InputStream in = exchange.getRequestBody()) {
                        while (in.read(body) >= 0) {
                            // All of it, and nothing is done with it.
                        }
                    }
                    exchange.sendResponseHeaders(200, -1);
                    exchange.close();
                });
                http.setExecutor(threads);
                http.start();
                storms = new StormsConsumer(storm1, "org.apache.storm.metric.HttpForwardingMetricsConsumer",
                        "http://127.0.0.1:" + http.getAddress().getPort() + "/");
        }
    }

    /**
     * Creates the next tick, as Kryo does in a worker, once the last one was sent and acknowledged, so that what it
     * costs is counted before.
     */
    @Setup(Level.Invocation)
    public void nextTick() throws Exception {
        long deadline = System.nanoTime() + PATIENCE_NS;
        while (plugin != null && plugin.queued() > 0) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("the collector does not take what is sent");
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
        }
        seconds += Intervals.REGISTER.seconds;
        tick.clear();
        calls.clear();
        for (int worker = 0; worker < WORKERS; worker++) {
            List<Reports.Report> ofWorker = reports.tick(worker, seconds);
            if (plugin != null) {
                tick.add(ofWorker);
            } else {
                calls.add(storms.calls(ofWorker));
            }
        }
    }

    /** Ends it. */
    @TearDown
    public void stop() {
        if (plugin != null) {
            plugin.close();
            collector.close();
        }
        if (http != null) {
            http.stop(0);
        }
        threads.shutdownNow();
    }

    /** A tick of the workers' tasks. */
    @Benchmark
    public void tick(OfThread took) throws Exception {
        long cpu = THREADS.getCurrentThreadCpuTime();
        long bytes = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
        for (int worker = 0; worker < WORKERS; worker++) {
            if (plugin != null) {
                plugin.handle(tick.get(worker));
                took.calls += tick.get(worker).size();
            } else {
                storms.handle(calls.get(worker));
                took.calls += calls.get(worker).size();
            }
        }
        cpu = THREADS.getCurrentThreadCpuTime() - cpu;
        bytes = THREADS.getThreadAllocatedBytes(Thread.currentThread().getId()) - bytes;
        took.cpuNs += cpu;
        took.bytes += bytes;
        took.ticks++;
        took.allCpuNs += cpu;
        took.allBytes += bytes;
        if (plugin != null) {
            long ofThreads = plugin.threadsNs();
            long allocated = plugin.threadsBytes();
            took.allCpuNs += ofThreads - threadsNs;
            took.allBytes += allocated - threadsBytes;
            threadsNs = ofThreads;
            threadsBytes = allocated;
        }
    }
}
