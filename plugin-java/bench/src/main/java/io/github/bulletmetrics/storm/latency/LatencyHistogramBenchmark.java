package io.github.bulletmetrics.storm.latency;

import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** The histogram alone. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class LatencyHistogramBenchmark {
    private final LatencyHistogram histogram = new LatencyHistogram();
    private final LatencyPack.Writer writer = new LatencyPack.Writer().add("bullet_filter_latency_seconds", "",
            histogram);
    private final long[] latencies = new Random(1).longs(4_096, 0, 10_000).toArray();
    private int next;

    /** Latencies of up to 10 s. */
    @Benchmark
    public void record() {
        next = next + 1 & latencies.length - 1;
        histogram.record(latencies[next]);
    }

    /** Once an interval: what the consumer is sent, after a million latencies. */
    @Benchmark
    public byte[] pack() {
        for (; histogram.count() < 1_000_000;) {
            record();
        }
        return writer.write();
    }
}
