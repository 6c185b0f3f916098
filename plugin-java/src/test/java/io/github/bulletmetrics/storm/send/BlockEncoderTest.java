package io.github.bulletmetrics.storm.send;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.storm.collector.BlockReader;
import io.github.bulletmetrics.storm.proto.v1.Block;
import io.github.bulletmetrics.storm.proto.v1.Shape;
import io.github.bulletmetrics.storm.proto.v1.ValueCodec;
import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.Series;
import io.github.bulletmetrics.storm.queue.Source;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BlockEncoderTest {
    private final BlockEncoder encoder = new BlockEncoder();
    private final io.github.bulletmetrics.storm.queue.Block block = new io.github.bulletmetrics.storm.queue.Block();

    /** Worked out by hand from data.proto. */
    @ParameterizedTest
    @CsvSource({"'0', '00'", "'1', '02 3ff0'", "'0 0', '00'", "'1 -2 3', '12 02 3ff0 c0 4008'", "'0 1500', '30 409770'",
        "'1 0.1', '82 3ff0 3fb999999999999a'", "'1 NaN', '22 3ff0 7ff8'", "'-0 1', '21 80 3ff0'"})
    void trimmedValuesAreTheseBytes(String values, String hex) {
        Block encoded = encode(1, values);
        assertThat(encoded.getCodec()).isEqualTo(ValueCodec.VALUE_CODEC_TRIMMED);
        assertThat(HexFormat.of().formatHex(encoded.getValues().toByteArray())).isEqualTo(hex.replace(" ", ""));
    }

    @Test
    void valuesThatNeedAllBytesTravelAsDoubles() {
        Block encoded = encode(1, "0.1");
        assertThat(encoded.getCodec()).isEqualTo(ValueCodec.VALUE_CODEC_DOUBLES);
        assertThat(HexFormat.of().formatHex(encoded.getValues().toByteArray())).isEqualTo("9a9999999999b93f");
        assertThat(encode(1, "0.1 0.2 0.3").getCodec()).isEqualTo(ValueCodec.VALUE_CODEC_DOUBLES);
    }

    @Test
    void presenceIsABitACellTheLeastSignificantFirst() {
        Block encoded = encode(3, "1 2 - 4 5 6 7 8 9 - 11 12");
        assertThat(HexFormat.of().formatHex(encoded.getPresence().toByteArray())).isEqualTo("fb0d");
        assertThat(encoded.getCount()).isEqualTo(3);
        assertThat(encoded.getStepMs()).isEqualTo(1_000);
        assertThat(encoded.getTimeOffsetsMsList()).isEmpty();
        assertThat(encode(3, "1 2 3").getPresence().isEmpty()).isTrue();
    }

    @Test
    void whateverABlockHoldsIsReadAgainByTheRulesOfTheProto() {
        Random random = new Random(3);
        for (int round = 0; round < 2_000; round++) {
            int rows = 1 + random.nextInt(20);
            Layout layout = layout(1 + random.nextInt(40));
            block.begin(layout, 1_700_000_000_000L, rows == 1 ? 0 : 1_000, rows);
            for (int row = 0; row < rows; row++) {
                if (random.nextInt(10) == 0) {
                    block.offset(row, random.nextInt(400) + 1);
                }
            }
            boolean gaps = random.nextBoolean();
            List<BlockReader.Sample> expected = new ArrayList<>();
            for (int cell = 0; cell < block.cells(); cell++) {
                if (gaps && random.nextInt(3) == 0 && cell > 0) {
                    block.skip();
                } else {
                    double value = value(random);
                    block.add(value);
                    expected.add(new BlockReader.Sample(layout.series(cell / rows).id(), block.timeMs(cell % rows),
                            value));
                }
            }
            Block encoded = encoder.encode(block);
            assertThat(encoded.getValues().size()).isLessThanOrEqualTo(8 * expected.size());
            assertThat(BlockReader.read(layout.definition(), encoded)).isEqualTo(expected);
        }
    }

    private static double value(Random random) {
        switch (random.nextInt(6)) {
            case 0:
                return 0;
            case 1:
                return random.nextDouble();
            case 2:
                return Double.longBitsToDouble(random.nextLong());
            case 3:
                return random.nextBoolean() ? Double.NaN : Double.NEGATIVE_INFINITY;
            case 4:
                return random.nextLong();
            default:
                return random.nextInt(1_000);
        }
    }

    private Block encode(int rows, String values) {
        String[] cells = values.split(" ");
        block.begin(layout(cells.length / rows), 1_700_000_000_000L, rows == 1 ? 0 : 1_000, rows);
        for (String cell : cells) {
            if (cell.equals("-")) {
                block.skip();
            } else {
                block.add(Double.parseDouble(cell));
            }
        }
        return encoder.encode(block);
    }

    private static Layout layout(int columns) {
        Source source = new Source("host", 6700, "FilterBolt", 1, 10_000);
        Series[] series = new Series[columns];
        for (int column = 0; column < columns; column++) {
            series[column] = new Series(column + 1, source, "metric" + column, List.of(), Shape.SHAPE_NUMBER);
        }
        return new Layout(5, series);
    }
}
