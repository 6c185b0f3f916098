package io.github.bulletmetrics.topology.compat;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.Map;
import java.util.Set;

/** That a name which is missing, or there without a reason, is a cross. */
class NamesTest {
    private static final Setup OLD = Setup.OLD_AND_NEW.get(0);
    private static final Setup NEW = Setup.OLD_AND_NEW.get(1);

    @Test
    void namesThatAreNotOfferedMayBeMissing() {
        Names names = new Names(Map.of(OLD, Set.of("storm_emitted_total", "storm_skipped_calls_total"), NEW,
            Set.of("storm_emitted_total", "storm_skipped_seconds_total", "storm_failed_total")));
        assertThat(names.check(OLD)).isEqualTo(new Cell(true, "2 names; 1 others are not available"));
        assertThat(names.check(NEW).ok()).isTrue();
        assertThat(names.everywhere()).containsExactly("storm_emitted_total");
        assertThat(names.byReason().values())
                .containsExactly(Set.of("storm_skipped_calls_total", "storm_skipped_seconds_total"));
    }

    @Test
    void othersMayNot() {
        Names names = new Names(Map.of(OLD, Set.of("storm_emitted_total"), NEW,
                Set.of("storm_emitted_total", "storm_acked_total")));
        assertThat(names.check(OLD)).isEqualTo(new Cell(false, "storm_acked_total missing"));
        assertThat(names.check(NEW).ok()).isTrue();
        assertThat(names.byReason()).containsEntry("no reason known", Set.of("storm_acked_total"));
    }

    @Test
    void aReasonThatIsNoneIsFound() {
        Names names = new Names(Map.of(OLD, Set.of("storm_capacity_ratio"), NEW,
                Set.of("storm_capacity_ratio", "storm_skipped_seconds_total")));
        assertThat(names.check(OLD)).isEqualTo(new Cell(false, "storm_capacity_ratio unexpected"));
        assertThat(names.check(NEW).ok()).isTrue();
    }

    @Test
    void truthIsReadAsItIsPrinted() {
        Truth truth = new Truth(400, 20);
        assertThat(Truth.of("more\n" + truth.toLine() + "\nmore")).contains(truth);
        assertThat(Truth.of("more")).isEmpty();
    }
}
