package io.github.bulletmetrics.storm.latency;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class QueryTimesTest {
    private final QueryTimes times = new QueryTimes(3);

    @Test
    void aQueryIsTimedFromItsArrivalToItsResultByOutcome() {
        times.arrived("a", 1_000, Creations.UNKNOWN);
        times.arrived("b", 2_000, Creations.UNKNOWN);
        times.completed("b", 2_500);
        times.failed("a", 4_000);
        assertThat(times.completedTimes().count()).isEqualTo(1);
        assertThat(times.completedTimes().sumSeconds()).isEqualTo(0.5);
        assertThat(times.failedTimes().sumSeconds()).isEqualTo(3);
        assertThat(times.firstSentTimes().sumSeconds()).as("a query without windows: its result is the first")
                .isEqualTo(3.5);
        assertThat(times.running()).isZero();
    }

    @Test
    void aQueryWithACreationTimeIsTimedFromThereToo() {
        times.arrived("a", 1_000, 800);
        times.arrived("b", 1_000, 1_600);
        times.arrived("c", 1_000, Creations.UNKNOWN);
        times.completed("a", 2_000);
        times.completed("b", 1_500);
        times.completed("c", 2_000);
        assertThat(times.completedTimes().count()).isEqualTo(3);
        assertThat(times.completedTimesSinceCreated().count()).isEqualTo(1);
        assertThat(times.completedTimesSinceCreated().sumSeconds()).isEqualTo(1.2);
        assertThat(times.completedTimesSinceCreated().negatives()).as("its client's clock is ahead").isEqualTo(1);
        times.failed("d", 5_000);
        times.arrived("d", 5_001, 4_900);
        assertThat(times.failedTimesSinceCreated().sumSeconds()).as("its arrival reported after its end")
                .isEqualTo(0.1);
    }

    @Test
    void ofAQueryWithWindowsTheFirstIsTimedAndTheEnd() {
        times.arrived("a", 0, Creations.UNKNOWN);
        times.windowSent("a", 1_000);
        times.windowSent("a", 2_000);
        times.completed("a", 3_000);
        assertThat(times.firstSentTimes().count()).isEqualTo(1);
        assertThat(times.firstSentTimes().sumSeconds()).isEqualTo(1);
        assertThat(times.completedTimes().sumSeconds()).isEqualTo(3);
    }

    @Test
    void aQueryThatFailsAtOnceEndsBeforeItsArrivalIsReported() {
        times.failed("a", 10);
        times.arrived("a", 11, Creations.UNKNOWN);
        assertThat(times.failedTimes().count()).isEqualTo(1);
        assertThat(times.failedTimes().sumSeconds()).isZero();
        assertThat(times.unseenQueries()).isZero();
        assertThat(times.running()).isZero();
    }

    @Test
    void aReplayedQueryWhoseArrivalWasNotSeenIsCountedAndNotTimed() {
        times.completed("replayed", 10);
        times.completed("another", 20);
        times.windowSent("third", 20);
        times.arrived("a", 30, Creations.UNKNOWN);
        assertThat(times.unseenQueries()).isEqualTo(2);
        assertThat(times.completedTimes().count()).isZero();
        assertThat(times.firstSentTimes().count()).isZero();
        assertThat(times.running()).isEqualTo(1);
    }

    @Test
    void aQueryThatIsTakenAwayIsNotTimedHoweverOftenThatIsReported() {
        times.arrived("a", 0, Creations.UNKNOWN);
        times.removed("a");
        times.removed("a");
        times.removed("never");
        assertThat(times.running()).isZero();
        assertThat(times.completedTimes().count() + times.failedTimes().count() + times.firstSentTimes().count())
                .isZero();
    }

    @Test
    void anArrivalThatIsReportedAgainChangesNothing() {
        times.arrived("a", 0, Creations.UNKNOWN);
        times.arrived("a", 500, Creations.UNKNOWN);
        times.completed("a", 1_000);
        assertThat(times.completedTimes().sumSeconds()).isEqualTo(1);
    }

    @Test
    void noMoreQueriesAreFollowedThanThereMayBe() {
        for (int i = 0; i < 10; i++) {
            times.arrived("q" + i, i, Creations.UNKNOWN);
        }
        assertThat(times.running()).isEqualTo(3);
        assertThat(times.evictedQueries()).isEqualTo(7);
        times.completed("q9", 1_009);
        assertThat(times.completedTimes().sumSeconds()).as("the newest is still there").isEqualTo(1);
    }
}
