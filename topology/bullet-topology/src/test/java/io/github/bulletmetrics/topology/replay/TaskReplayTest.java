package io.github.bulletmetrics.topology.replay;

import static io.github.bulletmetrics.topology.replay.TaskReplay.Step.FINISH;
import static io.github.bulletmetrics.topology.replay.TaskReplay.Step.REFUSE;
import static io.github.bulletmetrics.topology.replay.TaskReplay.Step.SEND;
import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.List;

class TaskReplayTest {
    private static final int SPOUT = 7;
    private static final int OTHER = 8;

    private final TaskReplay replay = new TaskReplay(3, 1_000, List.of("a", "b"), SPOUT);

    @Test
    void eachAckSendsTheNextBatchAndTheLastIsNull() {
        assertThat(replay.batch()).isEqualTo("a");
        assertThat(replay.next(true, SPOUT)).isEqualTo(SEND);
        assertThat(replay.batch()).isEqualTo("b");
        assertThat(replay.next(true, SPOUT)).isEqualTo(SEND);
        assertThat(replay.batch()).isNull();
        assertThat(replay.index()).isEqualTo(2);
        assertThat(replay.next(true, SPOUT)).isEqualTo(FINISH);

        assertThat(replay.next(true, SPOUT)).isEqualTo(REFUSE);
        assertThat(replay.next(false, SPOUT)).as("a request that it has served").isEqualTo(REFUSE);
    }

    @Test
    void aRepeatedRequestSendsTheSameBatchAgain() {
        replay.next(true, SPOUT);
        assertThat(replay.next(false, SPOUT)).isEqualTo(SEND);
        assertThat(replay.batch()).isEqualTo("b");
    }

    @Test
    void theSpoutThatAskedLastMovesItOn() {
        assertThat(replay.next(true, OTHER)).isEqualTo(REFUSE);
        assertThat(replay.next(false, OTHER)).isEqualTo(SEND);
        assertThat(replay.batch()).isEqualTo("a");
        assertThat(replay.next(true, SPOUT)).isEqualTo(REFUSE);
        assertThat(replay.next(true, OTHER)).isEqualTo(SEND);
        assertThat(replay.batch()).isEqualTo("b");
    }
}
