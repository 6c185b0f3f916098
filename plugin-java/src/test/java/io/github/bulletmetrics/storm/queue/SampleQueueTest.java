package io.github.bulletmetrics.storm.queue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.bulletmetrics.storm.proto.v1.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

class SampleQueueTest {
    private final Series series = new Series(1, new Source("host", 6700, "FilterBolt", 3, 10_000), "x", List.of(),
            Shape.SHAPE_NUMBER);
    private final Series other = new Series(2, series.source(), "z", List.of(), Shape.SHAPE_NUMBER);
    private final Layout latencies = new Layout(0, new Series(3, series.source(), "y", List.of(),
            Shape.SHAPE_HISTOGRAM));
    private final Layout both = new Layout(7, series, other);
    private final Block block = new Block();
    private final SampleQueue queue = new SampleQueue(4);

    @Test
    void whatIsOfferedIsSeenOncePublished() {
        assertThat(offer(1_000, 0.5)).isTrue();
        assertThat(queue.published()).isZero();
        queue.publish();
        assertThat(queue.published()).isEqualTo(1);
        assertThat(Queued.samples(queue)).containsExactly(new Queued.Sample(series, 1_000, 0.5, null));
    }

    @Test
    void aBlockIsReadAsItWasOffered() {
        SampleQueue wide = new SampleQueue(100);
        block.begin(both, 5_000, 1_000, 3);
        block.offset(2, -7);
        for (double value : new double[] {1, 2, 3, 4, 6}) {
            if (value == 6) {
                block.skip();
            }
            block.add(value);
        }
        assertThat(wide.offer(block)).isTrue();
        wide.publish();
        block.begin(both, 0, 0, 1);
        Block read = new Block();
        wide.read(wide.block(4), read);
        assertThat(read.layout()).isSameAs(both);
        assertThat(read.rows()).isEqualTo(3);
        assertThat(read.samples()).isEqualTo(5);
        assertThat(new long[] {read.timeMs(0), read.timeMs(1), read.timeMs(2)}).containsExactly(5_000, 6_000, 6_993);
        assertThat(List.of(read.isPresent(0), read.isPresent(1), read.isPresent(2), read.isPresent(3),
                read.isPresent(4), read.isPresent(5)))
                .containsExactly(true, true, true, true, false, true);
        assertThat(new double[] {read.value(0), read.value(1), read.value(2), read.value(3), read.value(4)})
                .containsExactly(1, 2, 3, 4, 6);
        assertThat(wide.firstMs(0)).isEqualTo(5_000);
        assertThat(wide.lastMs(0)).isEqualTo(6_993);
    }

    @Test
    void aFullQueueRefusesUntilSomethingIsReleased() {
        fill(4);
        assertThat(queue.free(9)).isZero();
        assertThat(offer(5, 5)).isFalse();
        queue.release(1);
        assertThat(queue.free(9)).isEqualTo(1);
        assertThat(offer(5, 5)).isTrue();
        assertThat(offer(6, 6)).isFalse();
        queue.publish();
        assertThat(Queued.samples(queue)).extracting(Queued.Sample::value).containsExactly(1.0, 2.0, 3.0, 5.0);
    }

    /** With large blocks the values are full first, with small ones the blocks, with absent cells the words. */
    @Test
    void aQueueIsNearlyFullByAnyOfItsBounds() {
        assertNearlyFullBeforeFull(wide -> offer(wide, 1_000, 0));
        assertNearlyFullBeforeFull(wide -> offer(wide, 1, 0));
        assertNearlyFullBeforeFull(wide -> offer(wide, 1, 200));
        assertNearlyFullBeforeFull(wide -> wide.offer(latencies, 1, new byte[1]));
        assertNearlyFullBeforeFull(wide -> wide.offer(latencies, 1, new byte[1_000]));
    }

    private boolean offer(SampleQueue to, int present, int absent) {
        block.begin(new Layout(9, series), 1, 1_000, present + absent);
        for (int row = 0; row < present + absent; row++) {
            if (row < present) {
                block.add(row);
            } else {
                block.skip();
            }
        }
        return to.offer(block);
    }

    private static void assertNearlyFullBeforeFull(Predicate<SampleQueue> offer) {
        SampleQueue wide = new SampleQueue(40_000);
        int taken = 0;
        int nearly = 0;
        for (; offer.test(wide); taken++) {
            wide.publish();
            nearly += wide.isNearlyFull() ? 1 : 0;
        }
        assertThat(nearly).as("of %d", taken).isBetween(taken / 9, taken / 7 + 1);
        wide.release(wide.published());
        assertThat(wide.isNearlyFull()).isFalse();
    }

    @Test
    void aBlockIsTakenWholeOrNotAtAll() {
        fill(3);
        block.begin(both, 1, 0, 1);
        block.add(8);
        block.add(9);
        assertThat(queue.offer(block)).isFalse();
        queue.release(1);
        assertThat(queue.offer(block)).isTrue();
        queue.publish();
        assertThat(Queued.samples(queue)).extracting(Queued.Sample::value).containsExactly(1.0, 2.0, 8.0, 9.0);
    }

    @Test
    void aBlockThatIsReleasedInPartStays() {
        block.begin(both, 1, 1_000, 2);
        for (double value : new double[] {1, 2, 3, 4}) {
            block.add(value);
        }
        assertThat(queue.offer(block)).isTrue();
        queue.publish();
        queue.release(3);
        assertThat(queue.layout(queue.block(3))).isSameAs(both);
        assertThat(queue.start(queue.block(3))).isZero();
        assertThat(queue.end(queue.block(3))).isEqualTo(4);
        queue.release(4);
        fill(4);
        assertThat(Queued.samples(queue)).extracting(Queued.Sample::value).containsExactly(0.0, 1.0, 2.0, 3.0);
    }

    @Test
    void aDistributionIsASampleAmongTheOthers() {
        byte[] encoded = {1, 2, 3};
        offer(1, 1);
        assertThat(queue.offer(latencies, 2, encoded)).isTrue();
        offer(3, 3);
        queue.publish();
        assertThat(Queued.samples(queue)).containsExactly(new Queued.Sample(series, 1, 1, null),
                new Queued.Sample(latencies.series(0), 2, 0, encoded),
                new Queued.Sample(series, 3, 3, null));
        offer(4, 4);
        assertThat(queue.offer(latencies, 5, encoded)).as("full").isFalse();
        queue.release(2);
        assertThat(queue.offer(latencies, 5, new byte[] {5})).isTrue();
        queue.publish();
        assertThat(queue.distribution(queue.block(4))).containsExactly(5);
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
            assertThat(Queued.offer(wide, series, 9, 9)).as("numbers have").isTrue();
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
    void moreThanWasPublishedIsNotReleased() {
        fill(2);
        assertThatThrownBy(() -> queue.release(3)).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void blocksAndWhatTheySayOfTheirRowsHaveRoomOfTheirOwnWhichIsGivenBack() {
        SampleQueue wide = new SampleQueue(100_000);
        for (int round = 0; round < 3; round++) {
            int blocks = 0;
            while (Queued.offer(wide, series, blocks, blocks)) {
                blocks++;
            }
            assertThat(blocks).as("blocks of one sample").isEqualTo(100_000 / SampleQueue.SAMPLES_PER_BLOCK);
            wide.publish();
            wide.release(wide.published());
            int rows = 0;
            block.begin(new Layout(9, series), 0, 1_000, 100);
            block.offset(99, 1);
            for (int row = 0; row < 100; row++) {
                block.add(row);
            }
            while (wide.offer(block)) {
                rows += 100;
            }
            assertThat(rows).as("rows of one sample, each with an offset").isBetween(20_000, 40_000);
            wide.publish();
            wide.release(wide.published());
        }
    }

    @Test
    void memoryIsWhatIsSaid() {
        int capacity = 1 << 20;
        long values = 8L * capacity;
        long entries = (4L + 8 + 8 + 4) * capacity / SampleQueue.SAMPLES_PER_BLOCK;
        assertThat(values + entries + 4L * capacity / 4).isEqualTo((long) capacity * SampleQueue.BYTES_PER_SAMPLE);
    }

    @Test
    void nothingIsLostOrMixedUpBetweenTwoThreads() throws InterruptedException {
        int blocks = 30_000;
        SampleQueue shared = new SampleQueue(128);
        AtomicReference<String> wrong = new AtomicReference<>();
        Thread taker = new Thread(() -> {
            Block read = new Block();
            Block expected = new Block();
            Random random = new Random(1);
            long next = 0;
            for (int taken = 0; taken < blocks && wrong.get() == null;) {
                long end = shared.published();
                for (long number = next < end ? shared.block(next) : 0; next < end; number++) {
                    shared.read(number, read);
                    fillAtRandom(expected, random, taken++);
                    if (!text(read).equals(text(expected))) {
                        wrong.set(text(read) + " is not " + text(expected));
                        return;
                    }
                    next = shared.end(number);
                }
                shared.release(next);
                Thread.yield();
            }
        });
        taker.start();
        Random random = new Random(1);
        for (int number = 0; number < blocks && wrong.get() == null; number++) {
            fillAtRandom(block, random, number);
            while (!shared.offer(block) && wrong.get() == null) {
                shared.publish();
                Thread.yield();
            }
            if (number % 7 == 0 || number == blocks - 1) {
                shared.publish();
            }
        }
        taker.join();
        assertThat(wrong).hasValue(null);
    }

    private void fillAtRandom(Block into, Random random, int number) {
        int rows = 1 + random.nextInt(5);
        into.begin(both, number, rows == 1 ? 0 : 10, rows);
        if (rows > 1 && random.nextBoolean()) {
            into.offset(random.nextInt(rows), random.nextInt(9) + 1);
        }
        boolean gaps = random.nextInt(3) == 0;
        into.add(number);
        for (int cell = 1; cell < 2 * rows; cell++) {
            if (gaps && random.nextBoolean()) {
                into.skip();
            } else {
                into.add(random.nextInt());
            }
        }
    }

    private static String text(Block of) {
        List<Object> parts = new ArrayList<>(List.of(of.layout(), of.rows(), of.stepMs(), of.samples()));
        for (int row = 0; row < of.rows(); row++) {
            parts.add(of.timeMs(row));
        }
        for (int cell = 0, sample = 0; cell < of.cells(); cell++) {
            parts.add(of.isPresent(cell) ? of.value(sample++) : "absent");
        }
        return parts.toString();
    }

    private boolean offer(long timeMs, double value) {
        return Queued.offer(queue, series, timeMs, value);
    }

    private void fill(int samples) {
        for (int i = 0; i < samples; i++) {
            assertThat(offer(i, i)).isTrue();
        }
        queue.publish();
    }
}
