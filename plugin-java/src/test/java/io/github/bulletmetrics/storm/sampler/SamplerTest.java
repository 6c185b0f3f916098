package io.github.bulletmetrics.storm.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SamplerTest {
    @ParameterizedTest
    @CsvSource({"0, 900", "899, 900", "900, 1900", "901, 1900", "999, 1900", "1000, 1900", "1899, 1900", "-1, 900",
            "-100, 900", "-101, -100"})
    void aSampleIsDueAHundredMsBeforeEachFullSecond(long now, long due) {
        assertThat(Sampler.nextSampleMs(now)).isEqualTo(due);
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "9899, 0", "9900, 1", "10900, 1", "19899, 1", "19900, 2", "-100, 0", "-101, -1"})
    void theHostsTurnComesWithTheLastSampleBeforeEachFullTenSeconds(long time, long turn) {
        assertThat(Sampler.hostTurn(time)).isEqualTo(turn);
    }

    @Test
    void samplesThisProcessOnceASecondAtTheRightMoment() {
        Sampler sampler = Sampler.start();
        List<SamplePack> packs = new java.util.ArrayList<>();
        await().atMost(Duration.ofSeconds(20)).until(() -> {
            byte[] pack = sampler.take();
            if (pack != null) {
                packs.add(SamplePack.read(pack));
            }
            return packs.stream().mapToInt(SamplePack::samples).sum() >= 4;
        });
        SamplePack first = packs.get(0);
        assertThat(first.process().pid()).isEqualTo(ProcessHandle.current().pid());
        assertThat(first.process().startTimeMs()).isEqualTo(ManagementFactory.getRuntimeMXBean().getStartTime());
        assertThat(first.process().collectors()).startsWith(ManagementFactory.getGarbageCollectorMXBeans().stream()
                .map(GarbageCollectorMXBean::getName).toArray(String[]::new));
        assertThat(first.process().collectors().contains(Collector.G1_CONCURRENT)).as("G1's remark pauses, where G1 is")
                .isEqualTo(first.process().collectors().contains("G1 Young Generation"));
        assertThat(first.heapUsedBytes(0)).isPositive();
        assertThat(first.heapLimitBytes(0)).isEqualTo(Runtime.getRuntime().maxMemory());

        assertThat(first.process().hasHost()).isEqualTo(HostCpu.STAT.exists());
        if (first.process().hasHost()) {
            for (int mode = 0; mode < HostCpu.MODES; mode++) {
                assertThat(first.host(0, mode)).as(SamplePack.HOST_MODES.get(mode)).isNotNegative();
            }
            long read = packs.stream()
                    .flatMapToLong(pack -> java.util.stream.LongStream.range(0, pack.samples()).map(
                    i -> pack.host((int) i, HostCpu.CORES)))
                    .filter(cores -> cores != SamplePack.UNKNOWN).count();
            assertThat(read).as("samples that have the host's CPU").isPositive()
                    .isLessThan(packs.stream().mapToInt(SamplePack::samples).sum());
        }

        long[] times = packs.stream()
                .flatMapToLong(pack -> java.util.stream.LongStream.range(0, pack.samples()).map(
                i -> pack.timeMs((int) i))).toArray();
        long[] cpu = packs.stream().flatMapToLong(pack -> java.util.stream.LongStream.range(0, pack.samples())
                .map(i -> pack.cpuMs((int) i) + pack.cpuSystemMs((int) i))).toArray();
        assertThat(cpu).isSorted();
        // The first is taken when sampling starts; the others never before their moment, and a busy machine makes them
        // later.
        for (int i = 1; i < times.length; i++) {
            assertThat(Math.floorMod(times[i] + Sampler.LEAD_MS, 1_000L)).as("time %d", times[i]).isLessThan(900);
        }
    }

    @Test
    void aSamplerThatNobodyHoldsEnds() throws InterruptedException {
        Thread thread = startAndLetGo();
        await().atMost(Duration.ofSeconds(20)).until(() -> {
            System.gc();
            return !thread.isAlive();
        });
    }

    private static Thread startAndLetGo() {
        List<Thread> before = samplerThreads();
        WeakReference<Sampler> dropped = new WeakReference<>(Sampler.start());
        List<Thread> after = samplerThreads();
        after.removeAll(before);
        assertThat(after).hasSize(1);
        assertThat(after.get(0).isDaemon()).isTrue();
        return after.get(0);
    }

    private static List<Thread> samplerThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("bullet-metrics-sampler"))
                .collect(Collectors.toList());
    }

    @Test
    void whatNobodyReadsMakesRoomAndIsCounted() {
        SampleBuffer buffer = new SampleBuffer(new SamplePack.Process(CpuMode.TOTAL, 1, 2, List.of(), false));
        assertThat(buffer.take()).isNull();
        for (long time = 1; time <= SampleBuffer.CAPACITY + 3; time++) {
            buffer.add(new long[] {time, 0, 0, 0, 0, 0});
        }
        SamplePack pack = SamplePack.read(buffer.take());
        assertThat(pack.samples()).isEqualTo(SampleBuffer.CAPACITY);
        assertThat(pack.timeMs(0)).isEqualTo(4);
        assertThat(pack.lost()).isEqualTo(3);
        assertThat(pack.firstLostMs()).isEqualTo(1);
        assertThat(pack.lastLostMs()).isEqualTo(3);
        buffer.add(new long[] {1_000, 0, 0, 0, 0, 0});
        assertThat(SamplePack.read(buffer.take()).lost()).isZero();
    }
}
