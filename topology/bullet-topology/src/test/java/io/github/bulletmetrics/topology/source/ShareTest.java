package io.github.bulletmetrics.topology.source;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

class ShareTest {
    private static final long START = 1_795_199_763_123_456L;
    private static final long SECOND = 1_000_000L;

    @ParameterizedTest
    @CsvSource({"1, 1", "1, 3", "0.3, 2", "7.7, 4", "1000, 3", "12345.678, 5", "100000, 2"})
    void theTasksTogetherEmitEachRecordOnceAtTheRate(double rate, int tasks) {
        long end = START + 20 * SECOND;
        TreeSet<Long> emitted = new TreeSet<>();
        List<Long> wrong = new ArrayList<>();
        for (int task = 0; task < tasks; task++) {
            Share share = new Share(rate, task, tasks, START);
            long before = START;
            for (; share.isDue(end); share.advance()) {
                if (!emitted.add(share.index()) || share.dueMicros() <= START || share.dueMicros() < before) {
                    wrong.add(share.index());
                }
                before = share.dueMicros();
            }
        }
        assertThat(wrong).as("emitted twice, or not in their order").isEmpty();
        long expected = (long) Math.floor(end * rate / 1e6) - (long) Math.floor(START * rate / 1e6);
        assertThat((long) emitted.size()).isEqualTo(expected);
        assertThat(emitted.last() - emitted.first() + 1).as("without holes").isEqualTo(expected);
    }

    @Test
    void nothingIsDueAtRateZero() {
        Share share = new Share(0, 0, 1, START);
        assertThat(share.isDue(Long.MAX_VALUE / 2)).isFalse();
        assertThat(share.lag(START + SECOND)).isZero();
    }

    @Test
    void lagIsWhatIsDueAndNotEmitted() {
        Share share = new Share(10, 1, 2, START);
        List<Long> lags = new ArrayList<>();
        lags.add(share.lag(START));
        lags.add(share.lag(START + 10 * SECOND));
        share.advance();
        lags.add(share.lag(START + 10 * SECOND));
        assertThat(lags).containsExactly(0L, 50L, 49L);
    }

    @Test
    void whatIsTooLateIsLeftOutAndCounted() {
        Share share = new Share(10, 0, 1, START);
        long now = START + 10 * SECOND;
        assertThat(share.leaveOutOlder(now, 2 * SECOND)).isEqualTo(80);
        assertThat(share.leaveOutOlder(now, 2 * SECOND)).isZero();
        assertThat(share.lag(now)).isEqualTo(20);
        assertThat(share.dueMicros()).isGreaterThan(now - 2 * SECOND);
    }
}
