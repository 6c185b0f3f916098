package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.queue.Block;
import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Series;
import java.util.BitSet;

/**
 * Decides how much of the queue becomes one batch. Used by the sender's thread only.
 */
final class BatchCutter {
    /**
     * What a sample takes in a batch at most, bytes: as columns a five-byte id, a ten-byte time offset, a value. In a
     * block it takes less, its place in the layout, its row's offset and the presence of two cells included.
     */
    private static final int SAMPLE_BYTES = 5 + 10 + 8;
    /** Maximum size of a block and its layout without their samples, bytes. */
    private static final int BLOCK_BYTES = 96;

    private final SampleQueue queue;
    private final int batchSamples;
    private final BitSet seriesOfCut = new BitSet();
    private final Block part = new Block();

    /**
     * @param batchSamples samples in a batch at most.
     */
    BatchCutter(SampleQueue queue, int batchSamples) {
        this.queue = queue;
        this.batchSamples = batchSamples;
    }

    /**
     * Where a batch ends that begins at a queue position.
     *
     * <p>As many blocks as fit with the definitions of all their series, which a later stream may need; of a block that
     * alone is too large, as many samples as fit.
     */
    long end(long from, int maxBytes) {
        seriesOfCut.clear();
        long end = queue.published();
        long bytes = 0;
        long position = from;
        for (long block = queue.block(from); position < end; block++) {
            long next = queue.end(block);
            bytes += bytes(block, next - position);
            if (bytes > maxBytes || next - from > batchSamples) {
                return position > from ? position : endOfPart(block, from, maxBytes);
            }
            position = next;
        }
        return position;
    }

    private long bytes(long block, long samples) {
        Layout layout = queue.layout(block);
        long bytes = BLOCK_BYTES + samples * SAMPLE_BYTES;
        for (int column = 0; column < layout.columns(); column++) {
            bytes += definitionBytes(layout.series(column));
        }
        byte[] distribution = queue.distribution(block);
        return distribution == null ? bytes : bytes + distribution.length;
    }

    /** 0 where the batch that is cut has the definition already. */
    private int definitionBytes(Series series) {
        if (seriesOfCut.get(series.id())) {
            return 0;
        }
        seriesOfCut.set(series.id());
        return series.definitionBytes();
    }

    /** One sample at least, or nothing would ever get on. */
    private long endOfPart(long number, long from, int maxBytes) {
        if (queue.distribution(number) != null) {
            return queue.end(number);
        }
        queue.read(number, part);
        seriesOfCut.clear();
        long bytes = BLOCK_BYTES;
        long limit = Math.min(queue.end(number), from + batchSamples);
        long position = queue.start(number);
        for (int cell = 0; cell < part.cells() && position < limit; cell++) {
            if (part.isPresent(cell) && position++ >= from) {
                bytes += SAMPLE_BYTES + definitionBytes(part.layout().series(cell / part.rows()));
                if (bytes > maxBytes && position - 1 > from) {
                    return position - 1;
                }
            }
        }
        return position;
    }
}
