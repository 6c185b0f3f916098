package io.github.bulletmetrics.storm.latency;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LatencyHistogramTest {
    private final LatencyHistogram histogram = new LatencyHistogram();

    @Test
    void agreesWithASlowObviousTwin() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        List<Long> all = new ArrayList<>();
        for (int i = 0; i < 5_000; i++) {
            long ms = random.nextInt(10) == 0 ? random.nextInt(5) - 2 : random.nextLong() >>> 1 + random.nextInt(62);
            all.add(ms);
            histogram.record(ms);
        }
        List<Long> counted = all.stream().filter(ms -> ms >= 0).toList();
        assertThat(histogram.count()).as("seed %d", seed).isEqualTo(counted.size());
        assertThat(histogram.negatives()).isEqualTo(all.stream().filter(ms -> ms < 0).count());
        assertThat(histogram.zeros()).isEqualTo(all.stream().filter(ms -> ms == 0).count());
        assertThat(histogram.sumSeconds()).isCloseTo(counted.stream().mapToDouble(ms -> ms).sum() / 1_000,
                org.assertj.core.data.Percentage.withPercentage(1e-9));
        long inBuckets = 0;
        for (int index = LatencyHistogram.FIRST_BUCKET; index < histogram.endBucket(); index++) {
            double below = Math.pow(2, (index - 1) / 8.0) * 1_000;
            double upTo = Math.pow(2, index / 8.0) * 1_000;
            // Where no whole number lies on a bound, save for the powers of two, which Math.pow has exactly.
            long expected = counted.stream().filter(ms -> ms > 0 && ms > below && ms <= upTo).count();
            assertThat(histogram.inBucket(index)).as("bucket %d, seed %d", index, seed).isEqualTo(expected);
            inBuckets += expected;
        }
        assertThat(inBuckets + histogram.zeros()).isEqualTo(histogram.count());
    }

    @Test
    void takesTheGreatestLatencyThereIs() {
        histogram.record(Long.MAX_VALUE);
        histogram.record(Long.MIN_VALUE);
        assertThat(histogram.inBucket(histogram.endBucket() - 1)).isEqualTo(1);
        assertThat(histogram.negatives()).isEqualTo(1);
    }

    @Test
    void recordingAllocatesNothing() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = Thread.currentThread().getId();
        histogram.record(1);
        threads.getThreadAllocatedBytes(thread);
        long before = threads.getThreadAllocatedBytes(thread);
        for (long ms = -10; ms < 100_000; ms++) {
            histogram.record(ms);
        }
        assertThat(threads.getThreadAllocatedBytes(thread) - before).isLessThan(1_000);
    }
}
