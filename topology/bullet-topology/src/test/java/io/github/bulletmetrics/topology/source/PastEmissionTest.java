package io.github.bulletmetrics.topology.source;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.record.BulletRecord;

import org.junit.jupiter.api.Test;

import java.util.List;

class PastEmissionTest {
    private static final long START = 1_795_000_000_000_000L;
    private static final long SECOND = 1_000_000L;

    private final PastEmission emission = new PastEmission(new GeneratorSettings(9, 4, 64, 10_000,
        new SourceControl(50, List.of(new Probe("probe-1", 2)), 0), null, 1_000), 0, 1, START);

    @Test
    void givesThePastEachRecordWithItsOwnTimeThenWaitsForTheClock() {
        long now = START + 10 * SECOND;
        int records = 0;
        int probes = 0;
        long lastMs = START / 1_000;
        for (BulletRecord<?> record = emission.next(now); record != null; record = emission.next(now)) {
            assertThat(emission.dueMs()).isBetween(lastMs, lastMs + 21);
            lastMs = emission.dueMs();
            assertThat((Long) record.typedGet(RecordFields.EVENT_TIME).getValue()).isEqualTo(lastMs);
            probes += record.typedGet(RecordFields.PROBE).getValue().equals("probe-1") ? 1 : 0;
            records++;
        }
        assertThat(probes).isEqualTo(20);
        assertThat(records - probes).isEqualTo(500);

        assertThat(emission.next(now)).as("nothing is due").isNull();
        assertThat(emission.next(now + SECOND)).isNotNull();
    }

    @Test
    void followsAControlFromTheMomentThatItHasComeTo() {
        emission.next(START);
        assertThat(emission.lag(START + SECOND)).isEqualTo(52);
        emission.apply(new SourceControl(0, List.of(new Probe("probe-2", 4)), 7));
        assertThat(emission.control().version()).isEqualTo(7);
        assertThat(emission.lag(START + SECOND)).isEqualTo(4);

        BulletRecord<?> record = emission.next(START + SECOND);
        assertThat(record.typedGet(RecordFields.PROBE).getValue()).isEqualTo("probe-2");
        assertThat(record.typedGet(RecordFields.PROBE_DUE).getValue()).isEqualTo(START + SECOND / 4);
    }
}
