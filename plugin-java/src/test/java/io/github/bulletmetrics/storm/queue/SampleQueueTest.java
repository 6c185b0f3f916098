package io.github.bulletmetrics.storm.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.bulletmetrics.storm.proto.v1.Shape;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class SampleQueueTest {
    private final Series series = new Series(1, new Source("host", 6700, "FilterBolt", 3, 10_000), "x", List.of(), Shape.SHAPE_NUMBER);
    private final Series latencies = new Series(2, new Source("host", 6700, "FilterBolt", 3, 10_000), "y", List.of(), Shape.SHAPE_HISTOGRAM);
    private final SampleQueue queue = new SampleQueue(4);

    @Test
    void whatIsOfferedIsSeenOncePublished() {
        assertThat(queue.offer(series, 1_000, 0.5)).isTrue();
        assertThat(queue.published()).isZero();
        queue.publish();
        assertThat(queue.published()).isEqualTo(1);
        assertThat(queue.series(0)).isSameAs(series);
        assertThat(queue.timeMs(0)).isEqualTo(1_000);
        assertThat(queue.value(0)).isEqualTo(0.5);
    }

    @Test
    void aFullQueueRefusesUntilSomethingIsReleased() {
        fill(4);
        assertThat(queue.offer(series, 5, 5)).isFalse();
        queue.release(1);
        assertThat(queue.offer(series, 5, 5)).isTrue();
        assertThat(queue.offer(series, 6, 6)).isFalse();
        queue.publish();
        assertThat(queue.value(4)).isEqualTo(5);
        assertThat(queue.value(1)).isEqualTo(1);
    }

    @Test
    void whatWasNotPublishedCanBeTakenBack() {
        fill(1);
        long mark = queue.mark();
        queue.offer(series, 9, 9);
        queue.rewind(mark);
        queue.offer(series, 2, 2);
        queue.publish();
        assertThat(queue.published()).isEqualTo(2);
        assertThat(queue.value(1)).isEqualTo(2);
        assertThatThrownBy(() -> queue.rewind(0)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aDistributionIsASampleAmongTheOthers() {
        byte[] encoded = {1, 2, 3};
        queue.offer(series, 1, 1);
        assertThat(queue.offer(latencies, 2, encoded)).isTrue();
        queue.offer(series, 3, 3);
        queue.publish();
        assertThat(queue.distribution(0)).isNull();
        assertThat(queue.distribution(1)).isSameAs(encoded);
        assertThat(queue.series(1)).isSameAs(latencies);
        assertThat(queue.timeMs(1)).isEqualTo(2);
        assertThat(queue.distribution(2)).isNull();
        queue.offer(series, 4, 4);
        assertThat(queue.offer(latencies, 5, encoded)).as("full").isFalse();
        queue.release(2);
        assertThat(queue.offer(latencies, 5, new byte[] {5})).isTrue();
        queue.publish();
        assertThat(queue.distribution(4)).containsExactly(5);
    }

    @Test
    void distributionsHaveRoomOfTheirOwnWhichIsGivenBack() {
        SampleQueue wide = new SampleQueue(1_000);
        byte[] quarter = new byte[SampleQueue.MIN_DISTRIBUTION_BYTES / 4 - 20];
        for (int round = 0; round < 5; round++) {
            for (int i = 0; i < 4; i++) {
                assertThat(wide.offer(latencies, i, quarter)).isTrue();
            }
            assertThat(wide.offer(latencies, 9, new byte[1])).as("no room").isFalse();
            assertThat(wide.offer(series, 9, 9)).as("numbers have").isTrue();
            wide.publish();
            wide.release(wide.published());
        }
        int taken = 0;
        while (wide.offer(latencies, taken, new byte[0])) {
            taken++;
        }
        assertThat(taken).as("however small they are").isEqualTo(64);
    }

    @Test
    void aDistributionThatIsTakenBackGivesItsRoomBack() {
        byte[] all = new byte[SampleQueue.MIN_DISTRIBUTION_BYTES - 20];
        for (int i = 0; i < 3; i++) {
            long mark = queue.mark();
            queue.offer(series, 1, 1);
            assertThat(queue.offer(latencies, 2, all)).isTrue();
            queue.rewind(mark);
        }
        assertThat(queue.offer(latencies, 2, new byte[] {7})).isTrue();
        queue.publish();
        assertThat(queue.distribution(0)).containsExactly(7);
    }

    @Test
    void moreThanWasPublishedIsNotReleased() {
        fill(2);
        assertThatThrownBy(() -> queue.release(3)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void nothingIsLostOrMixedUpBetweenTwoThreads() throws InterruptedException {
        int samples = 1_000_000;
        SampleQueue shared = new SampleQueue(128);
        AtomicReference<String> wrong = new AtomicReference<>();
        Thread taker = new Thread(() -> {
            long next = 0;
            while (next < samples && wrong.get() == null) {
                for (long end = shared.published(); next < end; next++) {
                    if (shared.value(next) != next || shared.timeMs(next) != -next || shared.series(next) != series) {
                        wrong.set("at " + next + ": " + shared.value(next) + " " + shared.timeMs(next) + " " + shared.series(next));
                    }
                }
                shared.release(next);
            }
        });
        taker.start();
        for (long i = 0; i < samples && wrong.get() == null; i++) {
            while (!shared.offer(series, -i, i)) {
                Thread.onSpinWait();
            }
            if (i % 7 == 0 || i == samples - 1 || shared.mark() - shared.published() >= 100) {
                shared.publish();
            }
        }
        taker.join();
        assertThat(wrong).hasValue(null);
    }

    private void fill(int samples) {
        for (int i = 0; i < samples; i++) {
            assertThat(queue.offer(series, i, i)).isTrue();
        }
        queue.publish();
    }
}
