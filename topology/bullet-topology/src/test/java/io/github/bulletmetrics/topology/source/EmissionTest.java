package io.github.bulletmetrics.topology.source;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.record.BulletRecord;

import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class EmissionTest {
    private static final long START = 1_795_199_763_000_000L;
    private static final long SECOND = 1_000_000L;

    @Test
    void theSameSeedGivesTheSameRecordsAtAnyRate() {
        List<Object> slow = field("record_id", drain(emission(control(10)), START + 10 * SECOND));
        List<Object> fast = field("record_id", drain(emission(control(1_000)), START + SECOND / 10));
        assertThat(slow).hasSize(100).isEqualTo(fast);
    }

    @Test
    void probesComeBesideTheBackgroundAtTheirOwnRates() {
        Emission emission = emission(control(100, new Probe("a", 5), new Probe("b", 0.5)));

        List<BulletRecord<?>> records = drain(emission, START + 10 * SECOND);

        assertThat(field("probe", records)).filteredOn("none"::equals).hasSize(1_000);
        assertThat(field("probe", records)).filteredOn("b"::equals).hasSize(5);
        List<BulletRecord<?>> ofA = records.stream()
            .filter(record -> record.typedGet("probe").getValue().equals("a")).toList();
        List<Object> sequences = field("probe_sequence", ofA);
        assertThat(sequences).hasSize(50).doesNotHaveDuplicates();
        assertThat((Long) sequences.get(49) - (Long) sequences.get(0)).isEqualTo(49);
        assertThat((Long) ofA.get(0).typedGet("probe_due_us").getValue()).isBetween(START, START + SECOND);
    }

    @Test
    void aProbeThatStaysIsNotDisturbedByAChange() {
        Emission emission = emission(control(10, new Probe("stays", 10), new Probe("goes", 10)));
        List<BulletRecord<?>> records = new ArrayList<>(drain(emission, START + SECOND));
        emission.apply(control(20, new Probe("stays", 10), new Probe("comes", 10)), START + SECOND + 50_000);
        records.addAll(drain(emission, START + 2 * SECOND));

        assertThat(field("probe", records)).filteredOn("stays"::equals).hasSize(20);
        assertThat(field("probe", records)).filteredOn("goes"::equals).hasSize(10);
        assertThat(field("probe", records)).filteredOn("comes"::equals).hasSize(10);
    }

    @Test
    void whatWasHeldUpIsCaughtUpUntilItIsTooLate() {
        Emission emission = emission(control(100));
        emission.leaveOutTooLate(START + 5 * SECOND);
        assertThat(emission.lag(START + 5 * SECOND)).isEqualTo(500);
        assertThat(emission.leftOut()).isZero();

        emission.leaveOutTooLate(START + 60 * SECOND);

        assertThat(emission.leftOut()).isEqualTo(5_000);
        assertThat(drain(emission, START + 60 * SECOND)).hasSize(1_000);
    }

    private static Emission emission(SourceControl control) {
        return new Emission(new GeneratorSettings(42, 8, 64, 10_000, control, null, 1_000), 0, 1, START);
    }

    private static SourceControl control(double rate, Probe... probes) {
        return new SourceControl(rate, List.of(probes), 1);
    }

    private static List<BulletRecord<?>> drain(Emission emission, long now) {
        List<BulletRecord<?>> records = new ArrayList<>();
        for (BulletRecord<?> record = emission.next(now); record != null; record = emission.next(now)) {
            records.add(record);
        }
        return records;
    }

    private static List<Object> field(String name, List<BulletRecord<?>> records) {
        return records.stream().map(record -> (Object) record.typedGet(name).getValue()).toList();
    }
}
