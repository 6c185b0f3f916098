package io.github.bulletmetrics.topology.replay;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SpoutReplaysTest {
    private static final String TASK = "FilterBolt-3";

    private final SpoutReplays replays = new SpoutReplays();

    @Test
    void aRequestBeginsAReplayUnlessOneRuns() {
        assertThat(replays.request(TASK, 100)).isTrue();
        assertThat(replays.request(TASK, 100)).as("the same again").isFalse();
        assertThat(replays.request(TASK, 200)).as("a newer one takes the running one over").isFalse();
        assertThat(replays.since(TASK)).isEqualTo(200);
        assertThat(replays.request(TASK, 150)).as("an outdated one").isFalse();
        assertThat(replays.since(TASK)).isEqualTo(200);
        assertThat(replays.active()).isEqualTo(1);
    }

    @Test
    void oneThatEndedIsRestartedByTheSameRequestOrANewerOne() {
        replays.request(TASK, 100);
        replays.end(TASK);
        replays.end(TASK);
        assertThat(replays.active()).isZero();
        assertThat(replays.request(TASK, 99)).isFalse();
        assertThat(replays.active()).isZero();
        assertThat(replays.request(TASK, 100)).isTrue();
        replays.request("JoinBolt-4", 100);
        assertThat(replays.active()).isEqualTo(2);
    }

    @Test
    void knowsWhoAsked() {
        replays.request(TASK, 100);
        replays.end(TASK);
        assertThat(replays.has(TASK)).isTrue();
        assertThat(replays.has("a query")).isFalse();
        replays.clear();
        assertThat(replays.has(TASK)).isFalse();
    }
}
