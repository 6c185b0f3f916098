package io.github.bulletmetrics.storm.queue;

import java.util.ArrayList;
import java.util.List;

/** What a queue holds, sample by sample, and a way to put single samples into one. */
public final class Queued {
    /** A sample; the distribution is null where it is a number. */
    public record Sample(Series series, long timeMs, double value, byte[] distribution) {
    }

    private Queued() {
    }

    /** Offers a block of one number. */
    public static boolean offer(SampleQueue queue, Series series, long timeMs, double value) {
        Block block = new Block();
        block.begin(new Layout(series.id(), series), timeMs, 0, 1);
        block.add(value);
        return queue.offer(block);
    }

    /** All samples that are published and not released, block by block, in each row by row. */
    public static List<Sample> samples(SampleQueue queue) {
        List<Sample> samples = new ArrayList<>();
        for (long position = queue.released(); position < queue.published();) {
            long number = queue.block(position);
            samples.addAll(samples(queue, number));
            position = queue.end(number);
        }
        return samples;
    }

    /** How many blocks are published and not wholly released. */
    public static int blocks(SampleQueue queue) {
        return queue.published() == queue.released() ? 0
                : (int) (queue.block(queue.published() - 1) - queue.block(queue.released()) + 1);
    }

    private static List<Sample> samples(SampleQueue queue, long number) {
        byte[] distribution = queue.distribution(number);
        if (distribution != null) {
            return List.of(new Sample(queue.layout(number).series(0), queue.firstMs(number), 0, distribution));
        }
        Block block = new Block();
        queue.read(number, block);
        List<Sample> samples = new ArrayList<>();
        int sample = 0;
        for (int cell = 0; cell < block.cells(); cell++) {
            if (block.isPresent(cell)) {
                samples.add(new Sample(block.layout().series(cell / block.rows()), block.timeMs(cell % block.rows()),
                        block.value(sample++), null));
            }
        }
        samples.sort(java.util.Comparator.comparingLong(Sample::timeMs));
        return samples;
    }
}
