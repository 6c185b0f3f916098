package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ReportIntervalsTest {
    private final Map<String, Object> settings = new HashMap<>();

    @Test
    void whatStormSchedulesTwiceIsSaidAndLeft() {
        settings.put("topology.builtin.metrics.bucket.size.secs", 128);
        settings.put("topology.v2.metrics.tick.interval.seconds", 300L);
        settings.put("bullet.topology.metrics.built.in.emit.interval.mapping",
                Map.of("default", 10, "bullet_active_queries", 600));
        Map<String, Object> before = new HashMap<>(settings);
        try (Logged log = new Logged(ReportIntervals.class)) {
            ReportIntervals.warnOfTooLong(settings::get);
            assertThat(log.lines()).hasSize(3)
                    .allSatisfy(line -> assertThat(line).startsWith("WARN bullet-metrics: ").contains(
                    "above 127 s twice", "Set it to 127 s or less"));
            assertThat(log.lines().get(0)).contains("topology.builtin.metrics.bucket.size.secs is 128 s");
            assertThat(log.lines().get(2)).contains("bullet_active_queries is 600 s");
        }
        assertThat(settings).isEqualTo(before);
    }

    @Test
    void aboutTheOthersNothingIsSaid() {
        settings.put("topology.builtin.metrics.bucket.size.secs", 127);
        settings.put("topology.v2.metrics.tick.interval.seconds", "often");
        settings.put("bullet.topology.metrics.built.in.emit.interval.mapping", Map.of("default", 127));
        try (Logged log = new Logged(ReportIntervals.class)) {
            ReportIntervals.warnOfTooLong(settings::get);
            ReportIntervals.warnOfTooLong(name -> null);
            assertThat(log.lines()).isEmpty();
        }
    }
}
