package io.github.bulletmetrics.storm.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class JvmCountersTest {
    private static final long PID = 7;
    private static final long START_MS = 1_700_000_000_123L;
    private static final int HEADER_BYTES = 32;
    private static final int ENTRY_BYTES = 64;

    @TempDir
    Path temporary;

    @Test
    void g1sRemarkAndCleanupPausesBeforeJdk20AreThoseOfTheCounters() throws IOException {
        write("storm", counters(START_MS, 6, 19_196_000), ByteOrder.LITTLE_ENDIAN);
        List<Collector> collectors = collectors("G1 Young Generation", "G1 Old Generation");
        assertThat(names(collectors)).containsExactly("G1 Young Generation", "G1 Old Generation", "G1 Concurrent GC");
        assertThat(collectors.get(2).count()).isEqualTo(6);
        assertThat(collectors.get(2).timeMs()).isEqualTo(19);

        write("storm", counters(START_MS, 8, 25_000_000), ByteOrder.LITTLE_ENDIAN);
        assertThat(collectors.get(2).count()).isEqualTo(8);
        assertThat(collectors.get(2).timeMs()).isEqualTo(25);
    }

    @Test
    void bigEndianCountersAreRead() throws IOException {
        write("storm", counters(START_MS, 6, 19_196_000), ByteOrder.BIG_ENDIAN);
        assertThat(collectors("G1 Young Generation").get(1).timeMs()).isEqualTo(19);
    }

    @Test
    void aBeanOfTheSamePausesIsPreferred() throws IOException {
        write("storm", counters(START_MS, 6, 19_196_000), ByteOrder.LITTLE_ENDIAN);
        List<Collector> collectors = collectors("G1 Young Generation", "G1 Concurrent GC", "G1 Old Generation");
        assertThat(names(collectors)).containsExactly("G1 Young Generation", "G1 Concurrent GC", "G1 Old Generation");
        assertThat(collectors.get(1).timeMs()).isZero();
    }

    @Test
    void theCountersOfOtherCollectorsAreLeftAlone() throws IOException {
        write("storm", counters(START_MS, 6, 19_196_000), ByteOrder.LITTLE_ENDIAN);
        assertThat(names(collectors("ParNew", "ConcurrentMarkSweep"))).containsExactly("ParNew", "ConcurrentMarkSweep");
    }

    @Test
    void theFileOfAnEarlierProcessWithThisIdIsLeftAlone() throws IOException {
        write("alice", counters(START_MS - 60_000, 99, 99_000_000), ByteOrder.LITTLE_ENDIAN);
        assertThat(names(collectors("G1 Young Generation"))).containsExactly("G1 Young Generation");
        write("storm", counters(START_MS, 6, 19_196_000), ByteOrder.LITTLE_ENDIAN);
        assertThat(collectors("G1 Young Generation").get(1).count()).isEqualTo(6);
    }

    @Test
    void withoutTheCountersTheBeansRemain() throws IOException {
        assertThat(names(collectors("G1 Young Generation"))).as("no file").containsExactly("G1 Young Generation");
        Map<String, Long> ofJdk8 = counters(START_MS, 6, 19_196_000);
        ofJdk8.remove("sun.gc.collector.2.time");
        write("storm", ofJdk8, ByteOrder.LITTLE_ENDIAN);
        assertThat(names(collectors("G1 Young Generation"))).as("JDK 8").containsExactly("G1 Young Generation");
    }

    @Test
    void aCounterOfATruncatedFileIsUnknown() throws IOException {
        File file = write("storm", counters(START_MS, 6, 19_196_000), ByteOrder.LITTLE_ENDIAN);
        Collector concurrent = collectors("G1 Young Generation").get(1);
        try (RandomAccessFile cut = new RandomAccessFile(file, "rw")) {
            cut.setLength(HEADER_BYTES);
        }
        assertThat(concurrent.count()).isEqualTo(SamplePack.UNKNOWN);
        assertThat(concurrent.timeMs()).isEqualTo(SamplePack.UNKNOWN);
    }

    /** Each byte of the header and of the first entry in turn, and a file that ends anywhere. */
    @ParameterizedTest
    @ValueSource(bytes = {0, -1, 127})
    void aDamagedFileDoesNoHarm(byte wrong) throws IOException {
        File file = write("storm", counters(START_MS, 6, 19_196_000), ByteOrder.LITTLE_ENDIAN);
        byte[] whole = Files.readAllBytes(file.toPath());
        for (int at = 0; at < HEADER_BYTES + ENTRY_BYTES; at++) {
            byte[] damaged = whole.clone();
            damaged[at] = wrong;
            Files.write(file.toPath(), damaged);
            assertThat(names(collectors("G1 Young Generation"))).first().isEqualTo("G1 Young Generation");
            Files.write(file.toPath(), Arrays.copyOf(whole, at));
            assertThatThrownBy(() -> new JvmCounters(file)).isInstanceOf(IOException.class);
        }
    }

    private List<Collector> collectors(String... beans) {
        return Collector.of(Arrays.stream(beans).map(JvmCountersTest::bean).collect(Collectors.toList()),
                () -> JvmCounters.ofProcess(temporary.toFile(), PID, START_MS));
    }

    private static GarbageCollectorMXBean bean(String name) {
        return (GarbageCollectorMXBean) Proxy.newProxyInstance(JvmCountersTest.class.getClassLoader(),
                new Class<?>[] {GarbageCollectorMXBean.class},
                (proxy, method, arguments) -> method.getName().equals("getName") ? name : (Object) 0L);
    }

    private static List<String> names(List<Collector> collectors) {
        return collectors.stream().map(Collector::name).collect(Collectors.toList());
    }

    private static Map<String, Long> counters(long startMs, long pauses, long ticks) {
        Map<String, Long> counters = new LinkedHashMap<>();
        counters.put("sun.rt.createVmBeginTime", startMs - 52);
        counters.put("sun.rt.createVmEndTime", startMs + 25);
        counters.put("sun.os.hrt.frequency", 1_000_000_000L);
        counters.put("sun.gc.collector.2.invocations", pauses);
        counters.put("sun.gc.collector.2.time", ticks);
        return counters;
    }

    /** Writes the file as HotSpot does: in place, a header and then entries with name and value in each. */
    private File write(String user, Map<String, Long> counters, ByteOrder order) throws IOException {
        int entries = counters.size();
        ByteBuffer out = ByteBuffer.allocate(HEADER_BYTES + entries * ENTRY_BYTES);
        out.putInt(0xcafec0c0).put((byte) (order == ByteOrder.BIG_ENDIAN ? 0 : 1)).put((byte) 2).order(order);
        out.putInt(24, HEADER_BYTES).putInt(28, entries);
        int at = HEADER_BYTES;
        for (Map.Entry<String, Long> counter : counters.entrySet()) {
            out.putInt(at, ENTRY_BYTES).putInt(at + 4, 20).put(at + 12, (byte) 'J').putInt(at + 16, ENTRY_BYTES - 8);
            out.position(at + 20);
            out.put(counter.getKey().getBytes(StandardCharsets.UTF_8));
            out.putLong(at + ENTRY_BYTES - 8, counter.getValue());
            at += ENTRY_BYTES;
        }
        Path file = Files.createDirectories(temporary.resolve("hsperfdata_" + user)).resolve(Long.toString(PID));
        return Files.write(file, out.array()).toFile();
    }
}
