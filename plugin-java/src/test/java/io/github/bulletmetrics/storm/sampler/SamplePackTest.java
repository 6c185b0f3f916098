package io.github.bulletmetrics.storm.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
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
    void noBytesMakeTheReaderFailInAnotherWay() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        byte[] good = HexFormat.of().parseHex(GOLDEN);
        for (int i = 0; i < 200_000; i++) {
            byte[] bytes = good.clone();
            for (int flips = 1 + random.nextInt(4); flips > 0; flips--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                SamplePack pack = SamplePack.read(bytes);
                pack.process();
                for (int sample = 0; sample < pack.samples(); sample++) {
                    pack.timeMs(sample);
                    for (int collector = 0; collector < pack.process().collectors().size(); collector++) {
                        pack.gcTimeMs(sample, collector);
                    }
                }
            } catch (IllegalArgumentException refused) {
                assertThat(refused).as("seed %d", seed).hasMessageContaining("sampler");
            }
        }
    }
}
