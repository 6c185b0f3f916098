package io.github.bulletmetrics.storm.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.bulletmetrics.storm.proto.v1.Shape;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class SampleQueueTest {
    private final Series series = new Series(1, new Source("host", 6700, "FilterBolt", 3, 10_000), "x", List.of(), Shape.SHAPE_NUMBER);
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
