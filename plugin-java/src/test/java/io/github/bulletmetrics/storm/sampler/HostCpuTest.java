package io.github.bulletmetrics.storm.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class HostCpuTest {
    @TempDir
    Path directory;

    @Test
    void countsEachModeFromWhenItWasFirstRead() throws IOException {
        File stat = stat("cpu  100 10 30 1000 7 2 1 5 50 3\n", 2);
        HostCpu host = new HostCpu(stat);
        assertThat(read(host)).containsExactly(0, 0, 0, 0, 0, 2);
        stat("cpu  101 12 33 1010 8 6 6 7 51 4\n", 4);
        assertThat(read(host)).as("user and nice; system, irq and softirq; guests are in user")
                .containsExactly(30, 120, 10, 20, 100, 4);
    }

    @Test
    void neverFalls() throws IOException {
        File stat = stat("cpu  100 0 30 1000 700 0 0 5\n", 1);
        HostCpu host = new HostCpu(stat);
        stat("cpu  100 0 30 1000 703 0 0 5\n", 1);
        assertThat(read(host)[HostCpu.IOWAIT]).isEqualTo(30);
        stat("cpu  100 0 30 1000 699 0 0 5\n", 1);
        assertThat(read(host)[HostCpu.IOWAIT]).isEqualTo(30);
    }

    /** The lines of the CPUs are longer than what is read at once, and lie across its ends each in another way. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3, 57, 58, 59, 60, 61, 100, 511, 1024})
    void countsTheCoresOfAMachineOfAnySize(int cores) throws IOException {
        for (int width = 1; width <= 80; width += 13) {
            File stat = stat("cpu  " + "1 ".repeat(width % 9 + 7) + "\n", cores, "1".repeat(width));
            assertThat(read(new HostCpu(stat))[HostCpu.CORES]).as("%d cores, numbers of %d digits", cores, width)
                    .isEqualTo(cores);
        }
    }

    @Test
    void aKernelThatKnowsNoStealHasNone() throws IOException {
        HostCpu host = new HostCpu(stat("cpu  1 0 0 0 0 0 0\n", 1));
        assertThat(read(host)[HostCpu.STEAL]).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "cpu", "cpu  1 2 3\n", "cpu0 1 2 3 4 5 6 7 8\n", "intr 1 2 3 4 5 6 7 8\n",
            "cpu  1 2 3 4 5 6 7 8"})
    void anythingElseIsAnError(String text) throws IOException {
        Path file = Files.writeString(directory.resolve("stat"), text);
        assertThatThrownBy(() -> new HostCpu(file.toFile())).isInstanceOf(IOException.class);
    }

    @Test
    void whatCannotBeReadLeavesTheRowAsItWas() throws IOException {
        File stat = stat("cpu  1 0 0 0 0 0 0 0\n", 1);
        HostCpu host = new HostCpu(stat);
        assertThat(stat.delete()).isTrue();
        long[] row = {-1, -1, -1, -1, -1, -1};
        assertThatThrownBy(() -> host.read(row, 0)).isInstanceOf(IOException.class);
        assertThat(row).containsOnly(-1);
    }

    private static long[] read(HostCpu host) throws IOException {
        long[] row = new long[HostCpu.COLUMNS];
        host.read(row, 0);
        return row;
    }

    private File stat(String total, int cores) throws IOException {
        return stat(total, cores, "123");
    }

    private File stat(String total, int cores, String number) throws IOException {
        StringBuilder text = new StringBuilder(total);
        for (int i = 0; i < cores; i++) {
            text.append("cpu").append(i).append(' ').append(number).append(" 0 45 678\n");
        }
        return Files.writeString(directory.resolve("stat"), text.append("intr 1 2 3\nctxt 4\nbtime 5\n")).toFile();
    }
}
