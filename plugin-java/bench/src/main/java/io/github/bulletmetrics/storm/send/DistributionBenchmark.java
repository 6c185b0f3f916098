package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.flatten.Flattener;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Workers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What one distribution of the latency hook costs from handleDataPoints to the bytes that gRPC sends, on both threads
 * together.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class DistributionBenchmark {
    /** FilterBolt's tasks of one interval. */
    private static final int TASKS = 256;
    private static final int LATENCIES = 100_000;

    private final SampleQueue queue = new SampleQueue(100_000);
    private final Losses losses = new Losses();
    private final Workers workers = new Workers();
    private final Flattener flattener = new Flattener(queue, losses, workers, 100_000, failure -> { });
    private final ExportOptions options = new ExportOptions();
    private final Outbox outbox = new Outbox(new byte[16], queue, losses, workers, TopologyInfo.getDefaultInstance(),
            options);
    private final byte[] pack = pack();
    private long seconds = 1_700_000_000;

    /**
     * A pack as docs/formats has it, of one distribution: 100,000 latencies from 1 ms to some seconds, in some 90
     * buckets.
     */
    private static byte[] pack() {
        TreeMap<Integer, Integer> buckets = new TreeMap<>();
        Random random = new Random(1);
        for (int i = 0; i < LATENCIES; i++) {
            double seconds = 0.001 * Math.exp(Math.abs(random.nextGaussian()) * 2);
            buckets.merge((int) Math.ceil(Math.log(seconds) / Math.log(2) * 8), 1, Integer::sum);
        }
        byte[] name = "bullet_filter_latency_seconds".getBytes(StandardCharsets.UTF_8);
        ByteBuffer out = ByteBuffer.allocate(4_096).put((byte) 1).put((byte) 3).putDouble(0.0005).put((byte) 1)
                .put((byte) name.length).put(name).put((byte) 0).put((byte) 0).put((byte) 0).putDouble(1_234.5);
        int first = buckets.firstKey();
        int last = buckets.lastKey();
        out.putShort((short) 1).putShort((short) first).putShort((short) (last - first + 1));
        for (int index = first; index <= last; index++) {
            int left = buckets.getOrDefault(index, 0);
            for (; left > 0x7f; left >>>= 7) {
                out.put((byte) (left & 0x7f | 0x80));
            }
            out.put((byte) left);
        }
        byte[] written = new byte[out.flip().remaining()];
        out.get(written);
        return written;
    }

    /** Of each distribution of a tick of 256. */
    @Benchmark
    @OperationsPerInvocation(TASKS)
    public long flattenQueueAndEncode() {
        flatten();
        long bytes = 0;
        for (Batch batch = next(); batch != null; batch = next()) {
            bytes += batch.toByteArray().length;
        }
        outbox.acknowledge(Long.MAX_VALUE);
        return bytes;
    }

    /** The part of it that is Storm's thread's. */
    @Benchmark
    @OperationsPerInvocation(TASKS)
    public long flattenAndQueue() {
        flatten();
        queue.release(queue.published());
        return queue.published();
    }

    private void flatten() {
        seconds += 10;
        for (int task = 1; task <= TASKS; task++) {
            flattener.begin("worker-1", 6_700, "FilterBolt", task, seconds, 10, 0);
            flattener.add(Flattener.LATENCY_METRIC, pack);
            flattener.end();
        }
    }

    private Batch next() {
        return outbox.next(options.maxWindow, 4 << 20, true, 0, seconds * 1_000);
    }
}
