package io.github.bulletmetrics.storm.latency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.bulletmetrics.storm.Seeded;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LatencyPackTest {
    /**
     * Version 1 as it was released: this text never changes. Zeros 1, negatives 2, 1 ms (bucket -79) 300 times, 2 ms
     * (-71) and 3 ms (-67) once each.
     */
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
        assertThat(new long[] {only.firstBucket(0), only.inBucket(0, 0), only.firstBucket(1), only.inBucket(1, 0),
                only.firstBucket(2), only.inBucket(2, 0)})
                .containsExactly(-79, 300, -71, 1, -67, 1);
    }

    @Test
    void whatIsWrittenIsRead() {
        Seeded.cases(500, random -> {
            List<String> texts = new ArrayList<>();
            List<LatencyHistogram> histograms = new ArrayList<>();
            LatencyPack pack = LatencyPack.read(write(random, texts, histograms));
            assertThat(pack.schema()).isEqualTo(Buckets.SCHEMA);
            assertThat(pack.zeroThreshold()).isEqualTo(LatencyHistogram.ZERO_THRESHOLD_SECONDS);
            assertThat(pack.distributions()).flatExtracting(LatencyPack.Distribution::name,
                    LatencyPack.Distribution::key).isEqualTo(texts);
            for (int i = 0; i < histograms.size(); i++) {
                assertSame(histograms.get(i), pack.distributions().get(i));
            }
        });
    }

    private static byte[] write(Random random, List<String> texts, List<LatencyHistogram> histograms) {
        LatencyPack.Writer writer = new LatencyPack.Writer();
        for (int n = random.nextInt(4) == 0 ? random.nextInt(LatencyPack.MAX_DISTRIBUTIONS + 1) : 1; n > 0; n--) {
            LatencyHistogram histogram = new LatencyHistogram();
            for (int records = random.nextInt(200); records > 0; records--) {
                histogram.record((random.nextLong() >>> random.nextInt(64)) - 1);
            }
            String name = "m" + Seeded.text(random, 254);
            String key = random.nextBoolean() ? "" : Seeded.text(random, 255);
            writer.add(name, key, histogram);
            texts.addAll(List.of(name, key));
            histograms.add(histogram);
        }
        return writer.write();
    }

    private static void assertSame(LatencyHistogram written, LatencyPack.Distribution read) {
        assertThat(read.count()).isEqualTo(written.count());
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
            assertThat(buckets[i]).as("bucket %d", i).isEqualTo(written.inBucket(LatencyHistogram.FIRST_BUCKET + i));
        }
    }

    @Test
    void anotherVersionIsRefusedWithWhatToLookFor() {
        byte[] pack = HexFormat.of().parseHex(GOLDEN);
        pack[0] = 2;
        assertThatThrownBy(() -> LatencyPack.read(pack)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("version 2")
                .hasMessageContaining("the same plugin jar");
    }

    @Test
    void aPackThatEndsEarlyOrLateIsRefusedWhereverItEnds() {
        byte[] pack = HexFormat.of().parseHex(GOLDEN);
        for (int length = 0; length < pack.length; length++) {
            byte[] cut = Arrays.copyOf(pack, length);
            assertThatThrownBy(() -> LatencyPack.read(cut)).as("%d bytes", length)
                    .isInstanceOf(IllegalArgumentException.class);
        }
        assertThatThrownBy(() -> LatencyPack.read(Arrays.copyOf(pack, pack.length + 1)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("excess bytes");
    }

    @Test
    void aPackThatMakesNoSenseIsRefused() {
        refused("runs that overlap", GOLDEN.replace("ffb90001", "ffb10001"), "next bucket");
        refused("a run of nothing", GOLDEN.replace("ffbd000101", "ffbd0000"), "number of buckets");
        refused("schema 9", GOLDEN.replace("01033f40", "01093f40"), "schema");
        refused("a zero threshold that is no number", GOLDEN.replace("3f40624dd2f1a9fc", "7ff8000000000000"),
                "zero threshold");
        refused("an infinite sum", GOLDEN.replace("3fd3851eb851eb85", "7ff0000000000000"), "sum");
        refused("17 distributions", GOLDEN.replace("a9fc01", "a9fc11"), "number of distributions");
        refused("no name", GOLDEN.replace("0161016b", "0001016b").replace("0001016b", "00016b"), "name");
        refused("a count of 64 bits", GOLDEN.replace("ac02", "ffffffffffffffffff01"), "count");
        refused("a count of more", GOLDEN.replace("ac02", "ffffffffffffffffffff01"), "64 bits");
        refused("counts that overflow", GOLDEN.replace("ac02", "ffffffffffffffff7f"), "63 bits");
    }

    private static void refused(String what, String hex, String why) {
        assertThatThrownBy(() -> LatencyPack.read(HexFormat.of().parseHex(hex))).as(what)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(why);
    }

    /**
     * What is no pack is refused, by a message that names it; what is taken keeps within the format, and its counts add
     * up.
     */
    @Test
    void whateverIsReadIsAPackOrRefused() {
        int[] taken = new int[1];
        Seeded.cases(50_000, random -> {
            byte[] from = random.nextBoolean() ? HexFormat.of().parseHex(GOLDEN)
                    : write(random, new ArrayList<>(), new ArrayList<>());
            LatencyPack pack;
            try {
                pack = LatencyPack.read(Seeded.mangled(random, from));
            } catch (IllegalArgumentException refused) {
                assertThat(refused).hasMessageContaining("pack");
                return;
            }
            taken[0]++;
            assertThat(pack.schema()).isBetween(-4, 8);
            assertThat(pack.zeroThreshold()).isFinite();
            assertThat(pack.zeroThreshold() >= 0).as("zero threshold %s; -0 is a zero", pack.zeroThreshold()).isTrue();
            assertThat(pack.distributions()).hasSizeLessThanOrEqualTo(LatencyPack.MAX_DISTRIBUTIONS);
            pack.distributions().forEach(LatencyPackTest::isOne);
        });
        assertThat(taken[0]).as("packs that were changed and taken").isGreaterThan(1_000);
    }

    private static void isOne(LatencyPack.Distribution distribution) {
        assertThat(distribution.name()).isNotEmpty();
        assertThat(distribution.sumSeconds()).isFinite();
        assertThat(distribution.negatives()).isNotNegative();
        long count = distribution.zeros();
        int buckets = 0;
        int end = Integer.MIN_VALUE;
        for (int run = 0; run < distribution.runs(); run++) {
            assertThat(distribution.firstBucket(run)).as("runs do not overlap").isGreaterThanOrEqualTo(end);
            end = distribution.firstBucket(run) + distribution.length(run);
            buckets += distribution.length(run);
            for (int i = 0; i < distribution.length(run); i++) {
                assertThat(distribution.inBucket(run, i)).isNotNegative();
                count = Math.addExact(count, distribution.inBucket(run, i));
            }
        }
        assertThat(buckets).isLessThanOrEqualTo(LatencyPack.MAX_BUCKETS);
        assertThat(distribution.count()).isEqualTo(count);
    }
}
