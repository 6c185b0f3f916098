package io.github.bulletmetrics.storm.send;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.storm.collector.Ledger;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.Block;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.Layout;
import io.github.bulletmetrics.storm.proto.v1.SeriesDefinition;
import io.github.bulletmetrics.storm.send.FakeTransport.FakeStream;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a stream is sent of blocks, by what its collector takes and what a batch holds. */
class BlocksOnStreamsTest {
    private static final double NONE = Double.NaN;
    private final Rig rig = new Rig(10_000, 100);

    @Test
    void aBlockTravelsAsOneWithItsLayoutWhichIsDefinedOnce() {
        FakeStream stream = opened(rig, 1 << 20, true);
        rig.offerBlock(0, 3, 2, 1, 2, 3, NONE, 5, 6);
        rig.offerBlock(0, 3, 1, 7, 8, 9);
        rig.pass(1_000);
        Batch batch = last(stream);
        assertThat(batch.hasSamples()).isFalse();
        assertThat(batch.getLayoutsList())
                .containsExactly(Layout.newBuilder().setId(10_000).addSeriesIds(1).addSeriesIds(2).addSeriesIds(
                3).build());
        assertThat(batch.getSeriesList()).extracting(SeriesDefinition::getId).containsExactly(1, 2, 3);
        assertThat(batch.getBlocksList()).extracting(Block::getCount).containsExactly(2, 1);
        rig.offerBlock(0, 3, 1, 10, 11, 12);
        rig.pass(1_000);
        assertThat(last(stream).getLayoutsList()).isEmpty();
        assertThat(last(stream).getBlocksCount()).isEqualTo(1);
        assertThat(delivered(stream, true)).containsExactly(1.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0);
    }

    @Test
    void anOlderCollectorIsSentColumnsRowByRow() {
        FakeStream stream = opened(rig, 1 << 20, false);
        rig.offerBlock(0, 3, 2, 1, 2, 3, NONE, 5, 6);
        rig.offerDistribution(4);
        rig.offerBlock(1, 1, 1, 7);
        rig.pass(1_000);
        Batch batch = last(stream);
        assertThat(batch.getBlocksCount() + batch.getLayoutsCount()).isZero();
        assertThat(batch.getSamples().getSeriesIdsList()).containsExactly(1, 2, 3, 1, 3, 2);
        assertThat(batch.getSamples().getValuesList()).containsExactly(1.0, 3.0, 5.0, 2.0, 6.0, 7.0);
        assertThat(batch.getSamples().getTimeOffsetsMsList()).containsExactly(0L, 0L, 0L, 1_000L, 1_000L, 0L);
        assertThat(batch.getHistogramsCount()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theSameBatchGoesAsTheNextStreamsCollectorTakesIt(boolean blocksFirst) {
        FakeStream first = opened(rig, 1 << 20, blocksFirst);
        rig.offerBlock(0, 3, 1, 1, 2, 3);
        rig.pass(1_000);
        first.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        FakeStream second = opened(rig, 1 << 20, !blocksFirst);
        rig.pass(0);
        assertThat(second.sent.get(0).getSequence()).isEqualTo(first.sent.get(0).getSequence());
        assertThat(second.sent.get(0).getBlocksCount()).isEqualTo(blocksFirst ? 0 : 1);
        assertThat(delivered(first, blocksFirst)).isEqualTo(delivered(second, !blocksFirst))
                .containsExactly(1.0, 2.0, 3.0);
    }

    @Test
    void aNewStreamIsDefinedItsLayoutsAgainAndSoIsOneThatWasFull() {
        FakeStream first = opened(rig, 1 << 20, true);
        rig.offerBlock(0, 3, 1, 1, 2, 3);
        rig.pass(1_000);
        first.sayFull(last(first).getSequence(), 1_000);
        rig.pass(0);
        rig.pass(10_000);
        assertThat(last(first).getLayoutsCount()).as("it may not have kept what it refused").isEqualTo(1);
        first.sayAcknowledged(last(first).getSequence());
        first.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        FakeStream second = opened(rig, 1 << 20, true);
        rig.offerBlock(0, 3, 1, 4, 5, 6);
        rig.pass(1_000);
        assertThat(last(second).getLayoutsCount()).isEqualTo(1);
        assertThat(delivered(second, true)).containsExactly(4.0, 5.0, 6.0);
    }

    @Test
    void aBatchHoldsNoMoreSamplesThanItMay() {
        FakeStream stream = opened(rig, 1 << 20, true);
        rig.offerBlock(0, 60, 1, rising(0, 60));
        rig.offerBlock(0, 60, 1, rising(60, 60));
        rig.offerBlock(0, 40, 1, rising(120, 40));
        rig.pass(1_000);
        assertThat(stream.sent).extracting(Batch::getBlocksCount).containsExactly(1, 2);
        assertThat(delivered(stream, true)).hasSize(160);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aBlockThatIsTooLargeForABatchIsSplit(boolean takesBlocks) {
        FakeStream stream = opened(rig, 1 << 20, takesBlocks);
        double[] values = rising(0, 50 * 5);
        values[17] = NONE;
        rig.offerBlock(0, 50, 5, values);
        rig.offerBlock(0, 2, 1, 1_000, 1_001);
        rig.pass(1_000);
        assertThat(stream.sent)
                .allSatisfy(batch ->
                assertThat(batch.getSamples().getValuesCount() + 2 * batch.getBlocksCount()).isBetween(1, 100));
        assertThat(delivered(stream, takesBlocks))
                .containsExactlyElementsOf(DoubleStream.concat(DoubleStream.of(values), DoubleStream.of(1_000, 1_001))
                .filter(value -> !Double.isNaN(value)).boxed().toList());
        stream.sayAcknowledged(last(stream).getSequence());
        rig.pass(0);
        assertThat(rig.outbox.isEmpty()).isTrue();
        assertThat(rig.queue.released()).isEqualTo(251);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aBatchStaysBelowWhatTheCollectorTakes(boolean takesBlocks) {
        Rig small = new Rig(10_000, 4_096);
        FakeStream stream = opened(small, 6_000, takesBlocks);
        int value = 0;
        for (int i = 0; i < 50; i++) {
            int columns = 1 + i % 30;
            small.offerBlock(i * 20, columns, 3, rising(value, 3 * columns));
            value += 3 * columns;
        }
        for (int i = 0; i < 10; i++) {
            small.pass(1_000);
            stream.sayAcknowledged(last(stream).getSequence());
        }
        assertThat(stream.sent).hasSizeGreaterThan(10)
                .allSatisfy(batch -> assertThat(batch.getSerializedSize()).isLessThan(6_000));
        assertThat(delivered(stream, takesBlocks)).hasSize(value);
    }

    @Test
    void aStreamKnowsABoundedNumberOfColumns() {
        Rig wide = new Rig(200_000, 4_096);
        FakeStream stream = opened(wide, 4 << 20, true);
        int widest = io.github.bulletmetrics.storm.queue.Layout.MAX_COLUMNS;
        int most = BatchEncoder.MAX_STREAM_COLUMNS / widest;
        for (int i = 0; i < most + 2; i++) {
            wide.offerBlock(i, widest, 1, rising(0, widest));
            wide.pass(1_000);
            stream.sayAcknowledged(last(stream).getSequence());
        }
        assertThat(stream.sent.stream().mapToInt(Batch::getLayoutsCount).sum()).isEqualTo(most);
        assertThat(last(stream).getBlocksCount()).isZero();
        assertThat(last(stream).getSamples().getValuesCount()).isEqualTo(widest);
        wide.offerBlock(0, widest, 1, rising(0, widest));
        wide.pass(1_000);
        assertThat(last(stream).getBlocksCount()).as("of a layout that it knows").isEqualTo(1);
    }

    @Test
    void aTimeThatIsNoneIsLeftToColumns() {
        FakeStream stream = opened(rig, 1 << 20, true);
        rig.time.wallAheadMs = Long.MAX_VALUE / 4;
        rig.offer(0, 1);
        rig.pass(1_000);
        assertThat(last(stream).getBlocksCount()).isZero();
        assertThat(last(stream).getSamples().getValuesCount()).isEqualTo(1);
    }

    @Test
    void whatIsLostOfABlockIsCountedBySamplesWithItsTimes() {
        rig.exporter.step();
        long first = rig.time.wallMs();
        rig.offerBlock(0, 3, 5, rising(0, 15));
        rig.close();
        rig.pass(rig.options.closeTimeoutMs);
        assertThat(rig.losses.total(DropReason.DROP_REASON_CLOSED)).isEqualTo(15);
        assertThat(rig.losses.takeGaps()).singleElement().satisfies(gap -> {
            assertThat(gap.getStartTimeMs()).isEqualTo(first);
            assertThat(gap.getEndTimeMs()).isEqualTo(first + 4_000);
        });
    }

    private static FakeStream opened(Rig rig, int maxBatchBytes, boolean takesBlocks) {
        int before = (int) rig.transport.streams.stream().filter(stream -> stream.cancelled != null).count();
        while (rig.transport.streams.size() == before) {
            rig.pass(10);
        }
        rig.transport.last().sayOpened(64, maxBatchBytes, takesBlocks);
        return rig.transport.last();
    }

    private static Batch last(FakeStream stream) {
        return stream.sent.get(stream.sent.size() - 1);
    }

    private static double[] rising(int from, int count) {
        return IntStream.range(from, from + count).asDoubleStream().toArray();
    }

    /** The values that a collector has of a stream, in order, once each. */
    private static List<Double> delivered(FakeStream stream, boolean takesBlocks) {
        Ledger ledger = new Ledger();
        Ledger.StreamIds ids = ledger.newStream(takesBlocks);
        long taken = 0;
        for (Batch batch : stream.sent) {
            if (batch.getSequence() > taken) {
                ledger.take(ids, batch);
                taken = batch.getSequence();
            }
        }
        assertThat(ledger.breaches()).isEmpty();
        List<Double> values = new ArrayList<>();
        ledger.samples().forEach(sample -> values.add(sample.value()));
        values.sort(Double::compare);
        return values;
    }
}
