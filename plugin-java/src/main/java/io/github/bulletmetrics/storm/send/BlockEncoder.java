package io.github.bulletmetrics.storm.send;

import com.google.protobuf.ByteString;
import io.github.bulletmetrics.storm.proto.v1.Block;
import io.github.bulletmetrics.storm.proto.v1.ValueCodec;

/** Encodes a block in the wire format, with the codec that needs fewer bytes for its values. Not thread-safe. */
final class BlockEncoder {
    private static final int MAX_CELLS = io.github.bulletmetrics.storm.queue.Block.MAX_CELLS;

    private final byte[] presence = new byte[MAX_CELLS / 8];
    /** Half a byte and eight bytes a value at most. */
    private final byte[] values = new byte[MAX_CELLS / 2 + MAX_CELLS * 8];

    Block encode(io.github.bulletmetrics.storm.queue.Block block) {
        Block.Builder encoded = Block.newBuilder()
                .setLayoutId(block.layout().id())
                .setFirstTimeMs(block.firstMs())
                .setStepMs(block.rows() == 1 ? 0 : block.stepMs())
                .setCount(block.rows());
        for (int row = 0; block.hasOffsets() && row < block.rows(); row++) {
            encoded.addTimeOffsetsMs(block.offsetMs(row));
        }
        if (!block.isComplete()) {
            encoded.setPresence(presence(block));
        }
        int trimmed = trimmed(block);
        if (trimmed < block.samples() * 8) {
            return encoded.setCodec(ValueCodec.VALUE_CODEC_TRIMMED).setValues(ByteString.copyFrom(values, 0, trimmed))
                    .build();
        }
        return encoded.setCodec(ValueCodec.VALUE_CODEC_DOUBLES)
                .setValues(ByteString.copyFrom(values, 0, doubles(block))).build();
    }

    private ByteString presence(io.github.bulletmetrics.storm.queue.Block block) {
        int bytes = (block.cells() + 7) / 8;
        java.util.Arrays.fill(presence, 0, bytes, (byte) 0);
        for (int cell = 0; cell < block.cells(); cell++) {
            if (block.isPresent(cell)) {
                presence[cell / 8] |= (byte) (1 << cell % 8);
            }
        }
        return ByteString.copyFrom(presence, 0, bytes);
    }

    /**
     * As VALUE_CODEC_TRIMMED has it: first how many bytes each value takes, then these bytes, the most significant
     * first.
     */
    private int trimmed(io.github.bulletmetrics.storm.queue.Block block) {
        int samples = block.samples();
        int at = (samples + 1) / 2;
        java.util.Arrays.fill(values, 0, at, (byte) 0);
        for (int sample = 0; sample < samples; sample++) {
            long bits = Double.doubleToRawLongBits(block.value(sample));
            int bytes = 8 - Long.numberOfTrailingZeros(bits) / 8;
            values[sample / 2] |= (byte) (bytes << sample % 2 * 4);
            for (int shift = 56; bytes > 0; bytes--, shift -= 8) {
                values[at++] = (byte) (bits >>> shift);
            }
        }
        return at;
    }

    private int doubles(io.github.bulletmetrics.storm.queue.Block block) {
        int at = 0;
        for (int sample = 0; sample < block.samples(); sample++) {
            long bits = Double.doubleToRawLongBits(block.value(sample));
            for (int shift = 0; shift < 64; shift += 8) {
                values[at++] = (byte) (bits >>> shift);
            }
        }
        return at;
    }
}
