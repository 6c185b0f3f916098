package io.github.bulletmetrics.storm.sampler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProcStatTest {
    @ParameterizedTest
    @ValueSource(strings = {"java", "a b", "a) S 9 9 (b", ")"})
    void readsUserAndSystemTimeWhateverTheCommandIsCalled(String command) throws IOException {
        String line = "77 (" + command
                + ") S 1 77 77 0 -1 4194560 50342 0 11 0 1234 567 8 9 20 0 45 0 1012 3456789 1000 18446744073709551615\n";
        assertThat(parse(line)).containsExactly(12_340, 5_670);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "77 (java", "77 (java) S 1 2 3",
            "77 (java) S 1 77 77 0 -1 4194560 50342 0 11 0 x 567 8\n"})
    void anythingElseIsAnError(String line) {
        assertThatThrownBy(() -> parse(line)).isInstanceOf(IOException.class);
    }

    @Test
    void agreesWithTheJvmOnThisProcess() throws IOException {
        org.junit.jupiter.api.Assumptions.assumeTrue(ProcStat.SELF.exists());
        long[] fromKernel = new long[2];
        long[] before = new long[2];
        long[] after = new long[2];
        new JvmCpu().read(before);
        new ProcStat(ProcStat.SELF).read(fromKernel);
        new JvmCpu().read(after);
        assertThat(fromKernel[0] + fromKernel[1]).isBetween(before[0] - 50, after[0] + 50);
    }

    private static long[] parse(String line) throws IOException {
        byte[] bytes = line.getBytes(StandardCharsets.US_ASCII);
        long[] read = new long[2];
        ProcStat.parse(bytes, bytes.length, read);
        return read;
    }
}
