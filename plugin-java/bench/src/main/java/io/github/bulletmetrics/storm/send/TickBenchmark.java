package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.flatten.Flattener;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Workers;
import java.util.concurrent.TimeUnit;
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
import org.openjdk.jmh.annotations.Warmup;

/** What one metrics tick of 1,162 executors costs: on Storm's thread, and on the sender's up to the network. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class TickBenchmark {
    private final SampleQueue queue = new SampleQueue(500_000);
    private final Losses losses = new Losses();
    private final Workers workers = new Workers();
    private final Flattener flattener = new Flattener(queue, losses, workers, 100_000, failure -> { });
    private final ExportOptions options = new ExportOptions();
    private final Outbox outbox = new Outbox(new byte[16], queue, losses, workers, TopologyInfo.getDefaultInstance(),
            options);
    private Tick tick = new Tick();
    private long seconds = 1_700_000_000;

    /**
     * "new": each tick has new Strings, as in a worker, whose hashes are yet to be computed; making them is not in the
     * time, but it is in the memory. "kept": each tick has the same, so that the memory is the plugin's alone.
     */
    @Param({"new", "kept"})
    public String texts;

    /** Whether the collector takes blocks; an older one is sent columns. */
    @Param({"true", "false"})
    public boolean takesBlocks;

    @Setup(Level.Invocation)
    public void nextTick() {
        outbox.opened(takesBlocks, false, 0);
        tick = texts.equals("new") ? new Tick() : tick;
        seconds += 60;
    }

    /** Storm's thread: flatten and queue. */
    @Benchmark
    public long flattenAndQueue() {
        tick.flatten(flattener, seconds);
        queue.release(queue.published());
        return queue.published();
    }

    /**
     * Both threads' work, on one: flatten and queue, cut batches, encode them, take the acknowledgement. Without gRPC
     * and the network.
     */
    @Benchmark
    public long flattenQueueAndEncode() {
        tick.flatten(flattener, seconds);
        long bytes = 0;
        for (Batch batch = next(); batch != null; batch = next()) {
            bytes += batch.toByteArray().length;
        }
        outbox.acknowledge(Long.MAX_VALUE);
        return bytes;
    }

    private Batch next() {
        return outbox.next(options.maxWindow, 4 << 20, true, 0, seconds * 1_000);
    }
}
