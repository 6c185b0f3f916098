package io.github.bulletmetrics.storm.latency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LatencyPackTest {
    /** Version 1 as it was released: this text never changes. Zeros 1, negatives 2, 1 ms (bucket -79) 300 times, 2 ms (-71) and 3 ms (-67) once each. */
    private static final String GOLDEN = ""
            + "01" + "03" + "3f40624dd2f1a9fc" + "01"
            + "01" + "61" + "01" + "6b"
            + "01" + "02" + "3fd3851eb851eb85" + "0003"
            + "ffb1" + "0001" + "ac02"
            + "ffb9" + "0001" + "01"
            + "ffbd" + "0001" + "01";

    private static LatencyHistogram golden() {
        LatencyHistogram histogram = new LatencyHistogram();
        for (int i = 0; i < 300; i++) {
            histogram.record(1);
        }
        for (long ms : new long[] {0, -1, -5, 2, 3}) {
            histogram.record(ms);
        }
        return histogram;
    }

    @Test
    void versionOneIsWrittenAsDocumented() {
        byte[] pack = new LatencyPack.Writer().add("a", "k", golden()).write();
        assertThat(HexFormat.of().formatHex(pack)).isEqualTo(GOLDEN);
    }

    @Test
    void versionOneIsRead() {
        LatencyPack pack = LatencyPack.read(HexFormat.of().parseHex(GOLDEN));
        assertThat(pack.schema()).isEqualTo(3);
        assertThat(pack.zeroThreshold()).isEqualTo(0.0005);
        LatencyPack.Distribution only = pack.distributions().get(0);
        assertThat(only.name()).isEqualTo("a");
        assertThat(only.key()).isEqualTo("k");
        assertThat(only.zeros()).isEqualTo(1);
        assertThat(only.negatives()).isEqualTo(2);
        assertThat(only.sumSeconds()).isEqualTo(0.305);
        assertThat(only.count()).isEqualTo(303);
        assertThat(only.runs()).isEqualTo(3);
        assertThat(new long[] {only.firstBucket(0), only.inBucket(0, 0), only.firstBucket(1), only.inBucket(1, 0), only.firstBucket(2), only.inBucket(2, 0)})
                .containsExactly(-79, 300, -71, 1, -67, 1);
    }

    @Test
    void whatIsWrittenIsRead() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int run = 0; run < 200; run++) {
            LatencyHistogram histogram = new LatencyHistogram();
            for (int n = random.nextInt(300); n > 0; n--) {
                histogram.record((random.nextLong() >>> random.nextInt(64)) - 1);
            }
            LatencyPack pack = LatencyPack.read(new LatencyPack.Writer().add("filter", "", histogram).add("é", "fail", new LatencyHistogram()).write());
            assertSame(histogram, pack.distributions().get(0), seed);
            assertSame(new LatencyHistogram(), pack.distributions().get(1), seed);
            assertThat(pack.distributions()).extracting(LatencyPack.Distribution::name).containsExactly("filter", "é");
        }
    }

    private static void assertSame(LatencyHistogram written, LatencyPack.Distribution read, long seed) {
        assertThat(read.count()).as("seed %d", seed).isEqualTo(written.count());
        assertThat(read.zeros()).isEqualTo(written.zeros());
        assertThat(read.negatives()).isEqualTo(written.negatives());
        assertThat(read.sumSeconds()).isEqualTo(written.sumSeconds());
        long[] buckets = new long[written.endBucket() - LatencyHistogram.FIRST_BUCKET];
        for (int run = 0; run < read.runs(); run++) {
            for (int i = 0; i < read.length(run); i++) {
                buckets[read.firstBucket(run) + i - LatencyHistogram.FIRST_BUCKET] = read.inBucket(run, i);
            }
        }
        for (int i = 0; i < buckets.length; i++) {
            assertThat(buckets[i]).as("bucket %d, seed %d", i, seed).isEqualTo(written.inBucket(LatencyHistogram.FIRST_BUCKET + i));
        }
    }

    @Test
    void anotherVersionIsRefusedAndSaysWhatToLookFor() {
        byte[] pack = HexFormat.of().parseHex(GOLDEN);
        pack[0] = 2;
        assertThatThrownBy(() -> LatencyPack.read(pack)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("version 2")
                .hasMessageContaining("two versions of the plugin's jar");
    }

    @Test
    void aPackThatEndsEarlyOrLateIsRefusedWhereverItEnds() {
        byte[] pack = HexFormat.of().parseHex(GOLDEN);
        for (int length = 0; length < pack.length; length++) {
            byte[] cut = Arrays.copyOf(pack, length);
            assertThatThrownBy(() -> LatencyPack.read(cut)).as("%d bytes", length).isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> LatencyPack.read(Arrays.copyOf(pack, pack.length + 1))).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("behind its end");
    }

    @Test
    void aPackThatMakesNoSenseIsRefused() {
        refused("runs that overlap", GOLDEN.replace("ffb90001", "ffb10001"), "next bucket");
        refused("a run of nothing", GOLDEN.replace("ffbd000101", "ffbd0000"), "number of buckets");
        refused("schema 9", GOLDEN.replace("01033f40", "01093f40"), "schema");
        refused("a zero threshold that is no number", GOLDEN.replace("3f40624dd2f1a9fc", "7ff8000000000000"), "zero threshold");
        refused("an infinite sum", GOLDEN.replace("3fd3851eb851eb85", "7ff0000000000000"), "sum");
        refused("17 distributions", GOLDEN.replace("a9fc01", "a9fc11"), "number of distributions");
        refused("no name", GOLDEN.replace("0161016b", "0001016b").replace("0001016b", "00016b"), "name");
        refused("a count of 64 bits", GOLDEN.replace("ac02", "ffffffffffffffffff01"), "count");
        refused("a count of more", GOLDEN.replace("ac02", "ffffffffffffffffffff01"), "64 bits");
        refused("counts that overflow", GOLDEN.replace("ac02", "ffffffffffffffff7f"), "63 bits");
    }

    private static void refused(String what, String hex, String why) {
        assertThatThrownBy(() -> LatencyPack.read(HexFormat.of().parseHex(hex))).as(what).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why);
    }

    @Test
    void bytesOfChanceAreReadOrRefusedAndNothingElse() {
        long seed = new Random().nextLong();
        Random random = new Random(seed);
        for (int run = 0; run < 20_000; run++) {
            byte[] pack = HexFormat.of().parseHex(GOLDEN);
            for (int n = 1 + random.nextInt(4); n > 0; n--) {
                pack[random.nextInt(pack.length)] = (byte) random.nextInt();
            }
            try {
                assertThat(LatencyPack.read(pack).distributions()).hasSizeLessThanOrEqualTo(LatencyPack.MAX_DISTRIBUTIONS);
            } catch (IllegalArgumentException refused) {
                assertThat(refused).as("seed %d", seed).hasMessageContaining("pack");
            }
        }
    }
}
