package io.github.bulletmetrics.storm.latency;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Beside Prometheus' own arithmetic: the bounds that its Go library has, written by the collector's tests. */
class BucketsTest {
    /** Index by upper bound. */
    private final TreeMap<Double, Integer> prometheus = new TreeMap<>();

    BucketsTest() throws IOException {
        try (InputStream page = BucketsTest.class.getResourceAsStream("schema-3-bounds.txt")) {
            List<String> lines = new String(page.readAllBytes()).lines().filter(line -> !line.startsWith("#")).toList();
            for (String line : lines) {
                String[] words = line.split(" ");
                prometheus.put(Double.longBitsToDouble(Long.parseUnsignedLong(words[1], 16)),
                        Integer.parseInt(words[0]));
            }
        }
        assertThat(prometheus).hasSize(505);
    }

    @Test
    void aBoundIsInItsOwnBucketAndTheNextDoubleInTheNext() {
        prometheus.forEach((bound, index) -> {
            assertThat(Buckets.index(bound)).as("%s", bound).isEqualTo(index);
            assertThat(Buckets.index(Math.nextDown(bound))).as("below %s", bound).isEqualTo(index);
            assertThat(Buckets.index(Math.nextUp(bound))).as("above %s", bound).isEqualTo(index + 1);
        });
    }

    @Test
    void everyMillisecondUpToAMinuteIsWherePrometheusWouldPutIt() {
        for (long ms = 1; ms <= 60_000; ms++) {
            double seconds = ms / 1_000.0;
            assertThat(Buckets.index(seconds)).as("%d ms", ms).isEqualTo(prometheus.ceilingEntry(seconds).getValue());
        }
    }

    @Test
    void anyLatencyThatALongHoldsIsWherePrometheusWouldPutIt() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int i = 0; i < 100_000; i++) {
            double seconds = ((random.nextLong() >>> 1 + random.nextInt(60)) + 1) / 1_000.0;
            assertThat(Buckets.index(seconds)).as("%s s, seed %d", seconds, seed)
                    .isEqualTo(prometheus.ceilingEntry(seconds).getValue());
        }
    }
}
