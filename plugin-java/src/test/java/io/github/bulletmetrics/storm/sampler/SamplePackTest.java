package io.github.bulletmetrics.storm.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.bulletmetrics.storm.Seeded;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SamplePackTest {
    private static final SamplePack.Process PROCESS = new SamplePack.Process(CpuMode.USER_AND_SYSTEM, 0x1234, 1_000_000, List.of("G1 Old", "é"));

    /** Version 1 as it was released: this text never changes. */
    private static final String GOLDEN = ""
            + "01" + "00" + "0000000000001234" + "00000000000f4240" + "02" + "0006" + "4731204f6c64" + "0002" + "c3a9"
            + "00000003" + "0000000000000064" + "0000000000000065"
            + "0001"
            + "0000000000000bb8" + "000000000000000a" + "0000000000000014" + "000000000000001e" + "0000000000000028" + "0000000000000032"
            + "0000000000000001" + "0000000000000002" + "0000000000000003" + "ffffffffffffffff";

    /** Version 2 as it was released: this text never changes. It is version 1 with a clock. */
    private static final String GOLDEN_2 = "02" + GOLDEN.substring(2, GOLDEN.indexOf("0001" + "0000000000000bb8")) + "0102030405060708"
            + GOLDEN.substring(GOLDEN.indexOf("0001" + "0000000000000bb8"));

    @Test
    void versionTwoIsWrittenAsDocumented() {
        byte[] pack = SamplePack.encode(PROCESS, 3, 100, 101, 0x0102030405060708L, List.of(new long[] {3_000, 10, 20, 30, 40, 50, 1, 2, 3, -1}));
        assertThat(HexFormat.of().formatHex(pack)).isEqualTo(GOLDEN_2);
    }

    @Test
    void bothVersionsAreRead() {
        SamplePack one = SamplePack.read(HexFormat.of().parseHex(GOLDEN));
        assertThat(one.handOverMs()).as("it does not say").isZero();
        holdsWhatTheGoldenPackHolds(one);
        SamplePack two = SamplePack.read(HexFormat.of().parseHex(GOLDEN_2));
        assertThat(two.handOverMs()).isEqualTo(0x0102030405060708L);
        holdsWhatTheGoldenPackHolds(two);
    }

    private static void holdsWhatTheGoldenPackHolds(SamplePack pack) {
        assertThat(pack.process().cpuMode()).isEqualTo(CpuMode.USER_AND_SYSTEM);
        assertThat(pack.process().pid()).isEqualTo(0x1234);
        assertThat(pack.process().startTimeMs()).isEqualTo(1_000_000);
        assertThat(pack.process().collectors()).containsExactly("G1 Old", "é");
        assertThat(pack.lost()).isEqualTo(3);
        assertThat(pack.firstLostMs()).isEqualTo(100);
        assertThat(pack.lastLostMs()).isEqualTo(101);
        assertThat(pack.samples()).isEqualTo(1);
        assertThat(new long[] {pack.timeMs(0), pack.cpuMs(0), pack.cpuSystemMs(0), pack.heapUsedBytes(0), pack.heapCommittedBytes(0),
                pack.heapLimitBytes(0), pack.gcCount(0, 0), pack.gcTimeMs(0, 0), pack.gcCount(0, 1), pack.gcTimeMs(0, 1)})
                .containsExactly(3_000, 10, 20, 30, 40, 50, 1, 2, 3, SamplePack.UNKNOWN);
    }

    @Test
    void packsOfOneProcessAreKnownByTheirHead() {
        byte[] one = SamplePack.encode(PROCESS, 0, 0, 0, 0, List.of());
        byte[] two = SamplePack.encode(PROCESS, 5, 1, 2, 0, List.of(new long[10]));
        byte[] other = SamplePack.encode(new SamplePack.Process(CpuMode.USER_AND_SYSTEM, 0x1235, 1_000_000, List.of("G1 Old", "é")), 0, 0, 0, 0, List.of());
        byte[] head = SamplePack.read(one).processHead();
        assertThat(SamplePack.read(two).isOf(head)).isTrue();
        assertThat(SamplePack.read(other).isOf(head)).isFalse();
    }

    @Test
    void whateverIsNoPackIsRefusedWithAReason() {
        byte[] good = HexFormat.of().parseHex(GOLDEN_2);
        assertThatThrownBy(() -> SamplePack.read(new byte[0])).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("ends early");
        byte[] newer = good.clone();
        newer[0] = 3;
        assertThatThrownBy(() -> SamplePack.read(newer)).isInstanceOf(IllegalArgumentException.class).hasMessageContaining("version 3");
        for (int length = 0; length < good.length; length++) {
            byte[] cut = Arrays.copyOf(good, length);
            assertThatThrownBy(() -> SamplePack.read(cut)).as("cut to %d", length).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void moreThanTheFormatHoldsIsRefused() {
        List<long[]> rows = Collections.nCopies(SampleBuffer.CAPACITY + 1, new long[6]);
        SamplePack.Process none = new SamplePack.Process(CpuMode.TOTAL, 1, 1, List.of());
        assertThat(SamplePack.read(SamplePack.encode(none, 0, 0, 0, 0, rows.subList(1, rows.size()))).samples()).isEqualTo(SampleBuffer.CAPACITY);
        assertThatThrownBy(() -> SamplePack.read(SamplePack.encode(none, 0, 0, 0, 0, rows))).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("131 samples");
        SamplePack.Process many = new SamplePack.Process(CpuMode.TOTAL, 1, 1, Collections.nCopies(ProcessReader.MAX_COLLECTORS + 1, "G1"));
        assertThatThrownBy(() -> SamplePack.read(SamplePack.encode(many, 0, 0, 0, 0, List.of()))).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("17 garbage collectors");
    }

    @Test
    void whateverIsWrittenIsReadWithAClockAndWithout() {
        Seeded.cases(2_000, random -> {
            Written written = new Written(random);
            readsAs(written, SamplePack.read(written.pack()), written.handOverMs);
            readsAs(written, SamplePack.read(written.packOfVersionOne()), 0);
        });
    }

    /** What is no pack is refused, by a message that names the sampler; what is taken keeps within the format, and is written to the same bytes. */
    @Test
    void whateverIsReadIsAPackOrRefused() {
        int[] taken = new int[1];
        Seeded.cases(50_000, random -> {
            Written written = new Written(random);
            byte[] bytes = Seeded.mangled(random, random.nextInt(4) == 0 ? written.packOfVersionOne() : written.pack());
            SamplePack pack;
            try {
                pack = SamplePack.read(bytes);
            } catch (IllegalArgumentException refused) {
                assertThat(refused).hasMessageContaining("sampler");
                return;
            }
            taken[0]++;
            SamplePack.Process process = pack.process();
            assertThat(process.collectors()).hasSizeLessThanOrEqualTo(ProcessReader.MAX_COLLECTORS);
            assertThat(pack.samples()).isLessThanOrEqualTo(SampleBuffer.CAPACITY);
            assertThat(pack.isOf(pack.processHead())).isTrue();
            byte[] again = SamplePack.encode(process, pack.lost(), pack.firstLostMs(), pack.lastLostMs(), pack.handOverMs(), rows(pack));
            boolean namesAreText = again.length == bytes.length && !String.join("", process.collectors()).contains("\ufffd");
            if (bytes[0] == SamplePack.VERSION && namesAreText) {
                assertThat(again).isEqualTo(bytes);
            }
        });
        assertThat(taken[0]).as("packs that were changed and taken").isGreaterThan(1_000);
    }

    private static void readsAs(Written written, SamplePack pack, long handOverMs) {
        assertThat(pack.process()).usingRecursiveComparison().isEqualTo(written.process);
        assertThat(new long[] {pack.lost(), pack.firstLostMs(), pack.lastLostMs(), pack.handOverMs()})
                .containsExactly(written.lost, written.firstLostMs, written.lastLostMs, handOverMs);
        assertThat(rows(pack)).usingElementComparator(Arrays::compare).isEqualTo(written.rows);
    }

    private static List<long[]> rows(SamplePack pack) {
        List<long[]> rows = new ArrayList<>();
        for (int sample = 0; sample < pack.samples(); sample++) {
            int collectors = pack.process().collectors().size();
            long[] row = new long[SamplePack.columns(collectors)];
            row[SamplePack.TIME] = pack.timeMs(sample);
            row[SamplePack.CPU] = pack.cpuMs(sample);
            row[SamplePack.CPU_SYSTEM] = pack.cpuSystemMs(sample);
            row[SamplePack.HEAP_USED] = pack.heapUsedBytes(sample);
            row[SamplePack.HEAP_COMMITTED] = pack.heapCommittedBytes(sample);
            row[SamplePack.HEAP_LIMIT] = pack.heapLimitBytes(sample);
            for (int collector = 0; collector < collectors; collector++) {
                row[SamplePack.gcCount(collector)] = pack.gcCount(sample, collector);
                row[SamplePack.gcTime(collector)] = pack.gcTimeMs(sample, collector);
            }
            rows.add(row);
        }
        return rows;
    }

    /** What a pack is written from. */
    private static final class Written {
        private final SamplePack.Process process;
        private final int lost;
        private final long firstLostMs;
        private final long lastLostMs;
        private final long handOverMs;
        private final List<long[]> rows = new ArrayList<>();

        Written(Random random) {
            List<String> collectors = new ArrayList<>();
            for (int n = upTo(random, ProcessReader.MAX_COLLECTORS); n > 0; n--) {
                collectors.add(Seeded.text(random, 256));
            }
            process = new SamplePack.Process(CpuMode.values()[random.nextInt(2)], random.nextLong(), random.nextLong(), collectors);
            lost = random.nextInt();
            firstLostMs = random.nextLong();
            lastLostMs = random.nextLong();
            handOverMs = random.nextLong();
            for (int n = upTo(random, SampleBuffer.CAPACITY); n > 0; n--) {
                rows.add(random.longs(SamplePack.columns(collectors.size())).toArray());
            }
        }

        /** Often none, one, or as many as there may be. */
        private static int upTo(Random random, int most) {
            int[] often = {0, 1, 2, most};
            return random.nextInt(8) == 0 ? random.nextInt(most + 1) : often[random.nextInt(random.nextInt(8) == 0 ? 4 : 3)];
        }

        byte[] pack() {
            return SamplePack.encode(process, lost, firstLostMs, lastLostMs, handOverMs, rows);
        }

        /** The same without the eight bytes of the clock. */
        byte[] packOfVersionOne() {
            byte[] two = pack();
            int clock = SamplePack.read(two).processHead().length + 4 + 8 + 8;
            byte[] one = Arrays.copyOf(two, two.length - 8);
            System.arraycopy(two, clock + 8, one, clock, one.length - clock);
            one[0] = 1;
            return one;
        }
    }
}
