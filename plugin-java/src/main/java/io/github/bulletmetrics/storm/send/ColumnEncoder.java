package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.proto.v1.SampleColumns;
import io.github.bulletmetrics.storm.queue.Block;
import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.Series;
import java.util.function.Consumer;

/**
 * Converts blocks to single samples, for a collector that does not accept blocks, and for a block of which a batch has
 * only a part. Not thread-safe.
 */
final class ColumnEncoder {
    private final int[] nextOfColumn = new int[Layout.MAX_COLUMNS];
    private SampleColumns.Builder columns = SampleColumns.newBuilder();

    /**
     * Adds the samples of a block from one up to another, row by row, so that times rise.
     *
     * @param used called with the series of each sample.
     */
    void add(Block block, int from, int to, Consumer<Series> used) {
        int rows = block.rows();
        int sample = 0;
        for (int cell = 0; cell < block.cells(); cell++) {
            if (cell % rows == 0) {
                nextOfColumn[cell / rows] = sample;
            }
            sample += block.isPresent(cell) ? 1 : 0;
        }
        for (int row = 0; row < rows; row++) {
            for (int column = 0; column < block.layout().columns(); column++) {
                if (block.isPresent(column * rows + row)) {
                    int of = nextOfColumn[column]++;
                    if (of >= from && of < to) {
                        Series series = block.layout().series(column);
                        used.accept(series);
                        add(series.id(), block.timeMs(row), block.value(of));
                    }
                }
            }
        }
    }

    private void add(int seriesId, long timeMs, double value) {
        if (columns.getSeriesIdsCount() == 0) {
            columns.setBaseTimeMs(timeMs);
        }
        columns.addSeriesIds(seriesId);
        columns.addTimeOffsetsMs(timeMs - columns.getBaseTimeMs());
        columns.addValues(value);
    }

    /** The samples added since the last call; null if nothing was. */
    SampleColumns take() {
        if (columns.getSeriesIdsCount() == 0) {
            return null;
        }
        SampleColumns taken = columns.build();
        columns = SampleColumns.newBuilder();
        return taken;
    }
}
