package io.github.bulletmetrics.storm.collector;

import io.github.bulletmetrics.storm.proto.v1.Block;
import io.github.bulletmetrics.storm.proto.v1.Layout;
import io.github.bulletmetrics.storm.proto.v1.ValueCodec;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * Reads blocks as data.proto describes them, slowly and without any of the plugin's code. Throws where a block breaks
 * the rules.
 */
public final class BlockReader {
    private static final int MAX_COLUMNS = 65_536;
    private static final int MAX_COUNT = 4_096;
    private static final int MAX_CELLS = 1_048_576;
    private static final int MAX_STEP_MS = 86_400_000;

    /** A sample of a block. */
    public record Sample(int seriesId, long timeMs, double value) {
    }

    private BlockReader() {
    }

    /** The samples in the order of their cells. */
    public static List<Sample> read(Layout layout, Block block) {
        int columns = layout.getSeriesIdsCount();
        int rows = block.getCount();
        check(columns >= 1 && columns <= MAX_COLUMNS, "columns", columns);
        check(rows >= 1 && rows <= MAX_COUNT && columns * rows <= MAX_CELLS, "count", rows);
        check(layout.getSeriesIdsList().stream().distinct().count() == columns, "a series comes twice", layout);
        check(block.getStepMs() >= (rows == 1 ? 0 : 1) && block.getStepMs() <= MAX_STEP_MS, "step_ms",
                block.getStepMs());
        List<Long> times = times(block, rows);
        BitSet present = presence(block, columns * rows);
        double[] values = values(block, present.cardinality());
        List<Sample> samples = new ArrayList<>();
        for (int cell = present.nextSetBit(0); cell >= 0; cell = present.nextSetBit(cell + 1)) {
            samples.add(new Sample(layout.getSeriesIds(cell / rows), times.get(cell % rows), values[samples.size()]));
        }
        return samples;
    }

    private static List<Long> times(Block block, int rows) {
        int offsets = block.getTimeOffsetsMsCount();
        check(offsets == 0 || offsets == rows && block.getTimeOffsetsMsList().stream().anyMatch(offset -> offset != 0),
                "time_offsets_ms", offsets);
        List<Long> times = new ArrayList<>();
        for (int row = 0; row < rows; row++) {
            times.add(block.getFirstTimeMs() + (long) row * block.getStepMs() + (offsets == 0 ? 0
                    : block.getTimeOffsetsMs(row)));
            check(row == 0 || times.get(row) > times.get(row - 1), "times do not rise", times);
        }
        return times;
    }

    private static BitSet presence(Block block, int cells) {
        BitSet present = BitSet.valueOf(block.getPresence().toByteArray());
        if (block.getPresence().isEmpty()) {
            present.set(0, cells);
            return present;
        }
        check(block.getPresence().size() == (cells + 7) / 8, "bytes of presence", block.getPresence().size());
        check(present.length() <= cells, "unused bits of presence", present.length());
        check(!present.isEmpty() && present.cardinality() < cells, "presence has no information",
                present.cardinality());
        return present;
    }

    private static double[] values(Block block, int count) {
        byte[] bytes = block.getValues().toByteArray();
        double[] values = new double[count];
        if (block.getCodec() == ValueCodec.VALUE_CODEC_DOUBLES) {
            check(bytes.length == 8 * count, "bytes of doubles", bytes.length);
            ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asDoubleBuffer().get(values);
            return values;
        }
        check(block.getCodec() == ValueCodec.VALUE_CODEC_TRIMMED, "codec", block.getCodec());
        int at = (count + 1) / 2;
        for (int value = 0; value < count; value++) {
            int taken = value % 2 == 0 ? bytes[value / 2] & 0x0f : bytes[value / 2] >> 4 & 0x0f;
            check(taken <= 8, "bytes of a value", taken);
            ByteBuffer whole = ByteBuffer.allocate(8);
            whole.put(bytes, at, taken);
            values[value] = whole.order(ByteOrder.BIG_ENDIAN).getDouble(0);
            at += taken;
        }
        check(count % 2 == 0 || bytes[count / 2] >> 4 == 0, "unused half of a byte", count);
        check(at == bytes.length, "bytes of values", bytes.length);
        return values;
    }

    private static void check(boolean holds, String what, Object value) {
        if (!holds) {
            throw new IllegalArgumentException(what + ": " + value);
        }
    }
}
