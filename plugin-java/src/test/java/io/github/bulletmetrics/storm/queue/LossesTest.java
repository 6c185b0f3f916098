package io.github.bulletmetrics.storm.queue;

import static io.github.bulletmetrics.storm.proto.v1.DropReason.DROP_REASON_EXPIRED;
import static io.github.bulletmetrics.storm.proto.v1.DropReason.DROP_REASON_QUEUE_FULL;
import static io.github.bulletmetrics.storm.proto.v1.DropReason.DROP_REASON_UNSUPPORTED_VALUE;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.storm.proto.v1.Gap;
import java.util.List;
import org.junit.jupiter.api.Test;

class LossesTest {
    private final Losses losses = new Losses();

    @Test
    void totalsAreCumulative() {
        losses.dropped(DROP_REASON_UNSUPPORTED_VALUE, 2);
        losses.dropped(DROP_REASON_UNSUPPORTED_VALUE, 3);
        losses.droppedBetween(DROP_REASON_QUEUE_FULL, 7, 1_000, 2_000);
        losses.drops();
        assertThat(losses.drops()).extracting(drop -> drop.getReason() + " " + drop.getTotalSamples())
                .containsExactly("DROP_REASON_QUEUE_FULL 7", "DROP_REASON_UNSUPPORTED_VALUE 5");
        assertThat(losses.total()).isEqualTo(12);
    }

    @Test
    void lossesCloseTogetherAreOneGapAndOthersAreNot() {
        losses.droppedBetween(DROP_REASON_QUEUE_FULL, 1, 10_000, 20_000);
        losses.droppedBetween(DROP_REASON_QUEUE_FULL, 1, 5_000, 30_000);
        losses.droppedBetween(DROP_REASON_QUEUE_FULL, 1, 1_000_000, 1_000_000);
        losses.droppedBetween(DROP_REASON_EXPIRED, 1, 10_000, 20_000);
        losses.droppedBetween(DROP_REASON_QUEUE_FULL, 1, 10_000, 20_000, "host", 6700);
        assertThat(losses.takeGaps()).extracting(LossesTest::text).containsExactly(
                "QUEUE_FULL :0 5000-30000", "QUEUE_FULL :0 1000000-1000000", "EXPIRED :0 10000-20000",
                "QUEUE_FULL host:6700 10000-20000");
        assertThat(losses.takeGaps()).isEmpty();
    }

    @Test
    void gapsThatWereNotDeliveredComeAgain() {
        losses.droppedBetween(DROP_REASON_QUEUE_FULL, 1, 10_000, 20_000);
        List<Gap> taken = losses.takeGaps();
        losses.putBack(taken);
        assertThat(losses.takeGaps()).isEqualTo(taken);
        assertThat(losses.total()).isEqualTo(1);
    }

    @Test
    void thereAreNeverMoreGapsThanTheLimit() {
        for (int i = 0; i < 1_000; i++) {
            losses.droppedBetween(DROP_REASON_QUEUE_FULL, 1, i * 1_000_000L, i * 1_000_000L);
        }
        List<Gap> gaps = losses.takeGaps();
        assertThat(gaps).hasSize(Losses.MAX_GAPS);
        assertThat(gaps.get(gaps.size() - 1).getEndTimeMs()).isEqualTo(999_000_000L);
    }

    private static String text(Gap gap) {
        return gap.getReason().toString().replace("DROP_REASON_", "") + " " + gap.getHost() + ":" + gap.getPort() + " "
                + gap.getStartTimeMs() + "-" + gap.getEndTimeMs();
    }
}
