package io.github.bulletmetrics.storm.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.bulletmetrics.storm.Seeded;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class SamplePackTest {
    private static final SamplePack.Process PROCESS = new SamplePack.Process(CpuMode.USER_AND_SYSTEM, 0x1234, 1_000_000,
            List.of("G1 Old", "é"), true);

    /** Version 1 as it was released: this text never changes. */
    private static final String GOLDEN = ""
            + "01" + "00" + "0000000000001234" + "00000000000f4240" + "02" + "0006" + "4731204f6c64" + "0002" + "c3a9"
            + "00000003" + "0000000000000064" + "0000000000000065"
            + "0001"
            + "0000000000000bb8" + "000000000000000a" + "0000000000000014" + "000000000000001e" + "0000000000000028"
            + "0000000000000032"
            + "0000000000000001" + "0000000000000002" + "0000000000000003" + "ffffffffffffffff";

    /** Version 2 as it was released: this text never changes. It is version 1 with a clock. */
    private static final String GOLDEN_2 = "02" + GOLDEN.substring(2, GOLDEN.indexOf("0001" + "0000000000000bb8"))
            + "0102030405060708"
            + GOLDEN.substring(GOLDEN.indexOf("0001" + "0000000000000bb8"));

    /** Version 3 as it was released: this text never changes. It is version 2 with the host's columns. */
    private static final String GOLDEN_3 = "03"
            + GOLDEN_2.substring(2, GOLDEN_2.indexOf("00000003" + "0000000000000064")) + "06"
            + GOLDEN_2.substring(GOLDEN_2.indexOf("00000003" + "0000000000000064"))
            + "0000000000000007" + "0000000000000008" + "0000000000000009" + "000000000000000a" + "000000000000000b"
                    + "0000000000000004";

    @Test
    void versionThreeIsWrittenAsDocumented() {
        byte[] pack = SamplePack.encode(PROCESS, 3, 100, 101, 0x0102030405060708L,
                List.of(new long[] {3_000, 10, 20, 30, 40, 50, 1, 2, 3, -1, 7, 8, 9, 10, 11, 4}));
        assertThat(HexFormat.of().formatHex(pack)).isEqualTo(GOLDEN_3);
    }

    @Test
    void allVersionsAreRead() {
        SamplePack one = SamplePack.read(HexFormat.of().parseHex(GOLDEN));
        assertThat(one.sentByWorkerMs()).as("it does not say").isZero();
        holdsWhatTheGoldenPackHolds(one);
        SamplePack two = SamplePack.read(HexFormat.of().parseHex(GOLDEN_2));
        assertThat(two.sentByWorkerMs()).isEqualTo(0x0102030405060708L);
        holdsWhatTheGoldenPackHolds(two);
        assertThat(two.process().hasHost()).isFalse();
        SamplePack three = SamplePack.read(HexFormat.of().parseHex(GOLDEN_3));
        assertThat(three.sentByWorkerMs()).isEqualTo(0x0102030405060708L);
        holdsWhatTheGoldenPackHolds(three);
        assertThat(three.process().hasHost()).isTrue();
        assertThat(new long[] {three.host(0, HostCpu.USER), three.host(0, HostCpu.SYSTEM),
                three.host(0, HostCpu.IOWAIT), three.host(0, HostCpu.STEAL),
                three.host(0, HostCpu.IDLE), three.host(0, HostCpu.CORES)}).containsExactly(7, 8, 9, 10, 11, 4);
        assertThat(SamplePack.HOST_MODES).hasSize(HostCpu.MODES);
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
        assertThat(new long[] {pack.timeMs(0), pack.cpuMs(0), pack.cpuSystemMs(0), pack.heapUsedBytes(0),
                pack.heapCommittedBytes(0),
                pack.heapLimitBytes(0), pack.gcCount(0, 0), pack.gcTimeMs(0, 0), pack.gcCount(0, 1),
                pack.gcTimeMs(0, 1)})
                .containsExactly(3_000, 10, 20, 30, 40, 50, 1, 2, 3, SamplePack.UNKNOWN);
    }

    @Test
    void packsOfOneProcessAreKnownByTheirHead() {
        byte[] one = SamplePack.encode(PROCESS, 0, 0, 0, 0, List.of());
        byte[] two = SamplePack.encode(PROCESS, 5, 1, 2, 0, List.of(new long[16]));
        byte[] other = SamplePack.encode(new SamplePack.Process(CpuMode.USER_AND_SYSTEM, 0x1235, 1_000_000,
                List.of("G1 Old", "é"), true), 0, 0, 0, 0, List.of());
        byte[] head = SamplePack.read(one).processHead();
        assertThat(SamplePack.read(two).isOf(head)).isTrue();
        assertThat(SamplePack.read(other).isOf(head)).isFalse();
    }

    @Test
    void whateverIsNoPackIsRefusedWithAReason() {
        byte[] good = HexFormat.of().parseHex(GOLDEN_3);
        assertThatThrownBy(() -> SamplePack.read(new byte[0])).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("truncated pack");
        byte[] newer = good.clone();
        newer[0] = 4;
        assertThatThrownBy(() -> SamplePack.read(newer)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("version 4");
        for (int length = 0; length < good.length; length++) {
            byte[] cut = Arrays.copyOf(good, length);
            assertThatThrownBy(() -> SamplePack.read(cut)).as("cut to %d", length)
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void moreThanTheFormatHoldsIsRefused() {
        List<long[]> rows = Collections.nCopies(SampleBuffer.CAPACITY + 1, new long[6]);
        SamplePack.Process none = new SamplePack.Process(CpuMode.TOTAL, 1, 1, List.of(), false);
        assertThat(SamplePack.read(SamplePack.encode(none, 0, 0, 0, 0, rows.subList(1, rows.size()))).samples())
                .isEqualTo(SampleBuffer.CAPACITY);
        assertThatThrownBy(() -> SamplePack.read(SamplePack.encode(none, 0, 0, 0, 0, rows)))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("131 samples");
        SamplePack.Process many = new SamplePack.Process(CpuMode.TOTAL, 1, 1,
                Collections.nCopies(ProcessReader.MAX_COLLECTORS + 1, "G1"), false);
        assertThatThrownBy(() -> SamplePack.read(SamplePack.encode(many, 0, 0, 0, 0, List.of())))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("17 garbage collectors");
    }

    @Test
    void whateverIsWrittenIsReadInEachVersion() {
        Seeded.cases(2_000, random -> {
            Written written = new Written(random);
            readsAs(written, SamplePack.read(written.pack()), written.sentByWorkerMs);
            readsAs(written.withoutHost(), SamplePack.read(written.packOfVersion(2)), written.sentByWorkerMs);
            readsAs(written.withoutHost(), SamplePack.read(written.packOfVersion(1)), 0);
        });
    }

    /**
     * What is no pack is refused, by a message that names the sampler; what is taken keeps within the format, and is
     * written to the same bytes.
     */
    @Test
    void whateverIsReadIsAPackOrRefused() {
        int[] taken = new int[1];
        Seeded.cases(50_000, random -> {
            Written written = new Written(random);
            byte[] bytes = Seeded.mangled(random, random.nextInt(4) == 0 ? written.packOfVersion(1 + random.nextInt(2))
                    : written.pack());
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
            byte[] again = SamplePack.encode(process, pack.lost(), pack.firstLostMs(), pack.lastLostMs(),
                    pack.sentByWorkerMs(), rows(pack));
            boolean namesAreText = again.length == bytes.length && !String.join("", process.collectors())
                    .contains("\ufffd");
            if (bytes[0] == SamplePack.VERSION && namesAreText) {
                assertThat(again).isEqualTo(bytes);
            }
        });
        assertThat(taken[0]).as("packs that were changed and taken").isGreaterThan(1_000);
    }

    private static void readsAs(Written written, SamplePack pack, long sentByWorkerMs) {
        assertThat(pack.process()).usingRecursiveComparison().isEqualTo(written.process);
        assertThat(new long[] {pack.lost(), pack.firstLostMs(), pack.lastLostMs(), pack.sentByWorkerMs()})
                .containsExactly(written.lost, written.firstLostMs, written.lastLostMs, sentByWorkerMs);
        assertThat(rows(pack)).usingElementComparator(Arrays::compare).isEqualTo(written.rows);
    }

    private static List<long[]> rows(SamplePack pack) {
        List<long[]> rows = new ArrayList<>();
        for (int sample = 0; sample < pack.samples(); sample++) {
            int collectors = pack.process().collectors().size();
            long[] row = new long[SamplePack.columns(pack.process())];
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
            for (int column = SamplePack.host(collectors); column < row.length; column++) {
                row[column] = pack.host(sample, column - SamplePack.host(collectors));
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
        private final long sentByWorkerMs;
        private final List<long[]> rows = new ArrayList<>();

        Written(Random random) {
            List<String> collectors = new ArrayList<>();
            for (int n = upTo(random, ProcessReader.MAX_COLLECTORS); n > 0; n--) {
                collectors.add(Seeded.text(random, 256));
            }
            process = new SamplePack.Process(CpuMode.values()[random.nextInt(2)], random.nextLong(), random.nextLong(),
                    collectors, random.nextBoolean());
            lost = random.nextInt();
            firstLostMs = random.nextLong();
            lastLostMs = random.nextLong();
            sentByWorkerMs = random.nextLong();
            for (int n = upTo(random, SampleBuffer.CAPACITY); n > 0; n--) {
                rows.add(random.longs(SamplePack.columns(process)).toArray());
            }
        }

        /** Often none, one, or as many as there may be. */
        private static int upTo(Random random, int most) {
            int[] often = {0, 1, 2, most};
            return random.nextInt(8) == 0 ? random.nextInt(most + 1)
                    : often[random.nextInt(random.nextInt(8) == 0 ? 4 : 3)];
        }

        byte[] pack() {
            return SamplePack.encode(process, lost, firstLostMs, lastLostMs, sentByWorkerMs, rows);
        }

        private Written(Written of) {
            process = new SamplePack.Process(of.process.cpuMode(), of.process.pid(), of.process.startTimeMs(),
                    of.process.collectors(), false);
            lost = of.lost;
            firstLostMs = of.firstLostMs;
            lastLostMs = of.lastLostMs;
            sentByWorkerMs = of.sentByWorkerMs;
            of.rows.forEach(row -> rows.add(Arrays.copyOf(row, SamplePack.columns(process))));
        }

        /** What an older version has of it. */
        Written withoutHost() {
            return new Written(this);
        }

        /**
         * The same without the byte of the host's columns, which are none, and before version 2 without the eight bytes
         * of the clock.
         */
        byte[] packOfVersion(int version) {
            byte[] three = withoutHost().pack();
            int head = SamplePack.read(three).processHead().length;
            int clock = head + 4 + 8 + 8;
            ByteBuffer older = ByteBuffer.allocate(three.length - 1 - (version == 1 ? 8 : 0));
            older.put(three, 0, head - 1).put(three, head, clock - head);
            int rest = version == 1 ? clock + 8 : clock;
            older.put(three, rest, three.length - rest);
            return older.put(0, (byte) version).array();
        }
    }
}
