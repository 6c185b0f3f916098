package io.github.bulletmetrics.storm.flatten;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.queue.Block;
import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.Queued;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Workers;
import io.github.bulletmetrics.storm.sampler.PackBuilder;
import java.util.Arrays;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Which blocks a report's numbers and a sampler's packs become, and of which layouts. */
class BlocksOfReportsTest {
    private final Losses losses = new Losses();
    private SampleQueue queue = new SampleQueue(100_000);
    private Flattener flattener = flattener();

    private Flattener flattener() {
        return new Flattener(queue, losses, new Workers(), 100_000, failure -> {
            throw new AssertionError(failure);
        });
    }

    @Test
    void aReportIsOneBlockAndTheNextOneLikeItHasTheSameLayout() {
        report("a b c");
        report("a b c");
        assertThat(blocks()).containsExactly("a b c", "a b c");
        assertThat(layouts()).containsExactly(1, 1);
    }

    @Test
    void theOrderInAReportMakesNoOtherLayout() {
        report("a b c d");
        report("d b a c");
        assertThat(blocks()).containsExactly("a b c d", "a b c d");
        assertThat(layouts()).containsExactly(1, 1);
        assertThat(Queued.samples(queue)).extracting(Queued.Sample::value).containsExactly(0.0, 1.0, 2.0, 3.0, 2.0, 1.0,
                3.0, 0.0);
    }

    @Test
    void aReportWithoutSomeOfTheSeriesHasTheSameLayoutAndLeavesTheirCellsEmpty() {
        report("a b c d");
        report("b d");
        report("a b c d");
        assertThat(blocks()).containsExactly("a b c d", "- b - d", "a b c d");
        assertThat(layouts()).containsExactly(1, 1, 1);
    }

    @Test
    void aReportOfLessThanHalfOfTheSeriesHasALayoutOfItsOwn() {
        report("a b c d e");
        report("b d");
        report("a b c d e");
        report("b d");
        assertThat(blocks()).containsExactly("a b c d e", "b d", "a b c d e", "b d");
        assertThat(layouts()).containsExactly(1, 2, 1, 2);
    }

    @Test
    void aSeriesThatIsNewMakesAnotherLayoutWhichIsThenUsed() {
        report("a b");
        report("a new b");
        report("a b new");
        report("a b");
        assertThat(blocks()).containsExactly("a b", "a b new", "a b new", "a b -");
        assertThat(layouts()).containsExactly(1, 2, 2, 2);
    }

    @Test
    void fewLayoutsAreKeptTheOneUsedLongestAgoGoes() {
        for (String report : List.of("a", "b", "c", "d", "a", "b", "c", "d", "e", "b", "a")) {
            report(report);
        }
        assertThat(layouts()).containsExactly(1, 2, 3, 4, 1, 2, 3, 4, 5, 2, 6);
    }

    @Test
    void eachTaskHasLayoutsOfItsOwn() {
        report("a b");
        flattener.begin("host", 6700, "FilterBolt", 8, 1_700_000_000, 10, 0);
        flattener.add("a", 1);
        flattener.add("b", 1);
        flattener.end();
        assertThat(layouts()).containsExactly(1, 2);
    }

    @Test
    void aSeriesThatComesTwiceInAReportIsInTwoBlocks() {
        report("a b a c b a");
        assertThat(String.join(" ", blocks()).split(" ")).containsExactlyInAnyOrder("a", "a", "a", "b", "b", "c");
        assertThat(Queued.samples(queue)).extracting(Queued.Sample::value).containsExactlyInAnyOrder(0.0, 1.0, 2.0, 3.0,
                4.0, 5.0);
        int layouts = layouts().stream().max(Integer::compare).orElseThrow();
        report("a b a c b a");
        assertThat(layouts()).allMatch(layout -> layout <= layouts);
    }

    @Test
    void aReportOfVeryManySeriesIsSeveralBlocksEachWithItsLayouts() {
        String wide = String.join(" ", IntStream.range(0, 6 * Layout.MAX_COLUMNS + 1).mapToObj(i -> "m" + i).toList());
        report(wide);
        report(wide);
        assertThat(blocks()).hasSize(14).allMatch(block -> !block.contains("-"));
        assertThat(layouts()).containsExactly(1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7);
        assertThat(Queued.samples(queue)).hasSize(2 * (6 * Layout.MAX_COLUMNS + 1));
    }

    @Test
    void whatFitsOfAReportIsTakenInItsLayout() {
        queue = new SampleQueue(4);
        flattener = flattener();
        report("a b c");
        report("a b c");
        assertThat(blocks()).containsExactly("a b c", "a - -");
        assertThat(layouts()).containsExactly(1, 1);
        assertThat(losses.total(DropReason.DROP_REASON_QUEUE_FULL)).isEqualTo(2);
    }

    @Test
    void randomReportsLoseAndMixUpNothing() {
        Random random = new Random(7);
        List<String> expected = new ArrayList<>();
        for (int report = 0; report < 300; report++) {
            List<String> names = new ArrayList<>();
            for (int i = random.nextInt(60); i > 0; i--) {
                names.add("m" + random.nextInt(50));
            }
            Collections.shuffle(names, random);
            for (int i = 0; i < names.size(); i++) {
                expected.add(names.get(i) + "=" + i + " at " + (1_700_000_000_000L + report * 1_000L));
            }
            report(1_700_000_000L + report, names);
        }
        assertThat(Queued.samples(queue).stream().map(sample -> sample.series().definition().getName() + "="
                + (int) sample.value() + " at " + sample.timeMs()))
                .containsExactlyInAnyOrderElementsOf(expected);
    }

    @Test
    void aPackIsOneBlockARowASample() {
        pack(new PackBuilder(77, 500, "G1").sample(1_900, 1, 2, 3, 4, 5, 6, 7).sample(2_900, 1, 2, 3, 4, 5, 6,
                7).sample(3_900, 1, 2, 3, 4, 5, 6, 7));
        Block block = block(0);
        assertThat(block.rows()).isEqualTo(3);
        assertThat(block.layout().columns()).isEqualTo(8);
        assertThat(block.firstMs()).isEqualTo(1_900);
        assertThat(block.stepMs()).isEqualTo(1_000);
        assertThat(block.hasOffsets()).isFalse();
        assertThat(block.isComplete()).isTrue();
        assertThat(Queued.blocks(queue)).isEqualTo(1);
    }

    @Test
    void samplesOffTheirPlaceHaveOffsetsEvenBehindAHole() {
        pack(new PackBuilder(77, 500).sample(1_901, 1, 2, 3, 4, 5).sample(2_900, 1, 2, 3, 4, 5).sample(63_907, 1, 2, 3,
                4, 5));
        Block block = block(0);
        assertThat(List.of(block.timeMs(0), block.timeMs(1), block.timeMs(2))).containsExactly(1_901L, 2_900L, 63_907L);
        assertThat(block.offsetMs(0)).isZero();
        assertThat(block.offsetMs(1)).isEqualTo(-1);
        assertThat(Queued.blocks(queue)).isEqualTo(1);
    }

    @Test
    void aClockThatIsSetBackOrFarAheadBeginsAnotherBlock() {
        pack(new PackBuilder(77, 500).sample(5_900, 1, 2, 3, 4, 5).sample(2_900, 1, 2, 3, 4, 5).sample(3_900, 1, 2, 3,
                4, 5).sample(1L << 50, 1, 2, 3, 4, 5));
        assertThat(Queued.blocks(queue)).isEqualTo(3);
        assertThat(List.of(block(0).rows(), block(1).rows(), block(2).rows())).containsExactly(1, 2, 1);
        assertThat(Queued.samples(queue)).extracting(Queued.Sample::timeMs)
                .containsOnly(5_900L, 2_900L, 3_900L, 1L << 50).hasSize(4 * 6);
    }

    @Test
    void whatTheSamplerCouldNotReadIsAnEmptyCell() {
        pack(new PackBuilder(77, 500).sample(1_900, 1, 2, -1, 4, 5).sample(2_900, 1, 2, 3, 4, 5));
        Block block = block(0);
        assertThat(block.samples()).isEqualTo(2 * 6 - 1);
        assertThat(IntStream.range(0, block.cells()).filter(cell -> !block.isPresent(cell))).containsExactly(2 * 2);
    }

    @Test
    void aPackOfVeryManySamplesIsSeveralBlocks() {
        int collectors = 16;
        int samples = 130; // as many of either as a pack has
        String[] names = new String[collectors];
        long[] row = new long[6 + 2 * collectors]; // time, then what was read
        Arrays.setAll(names, i -> "GC " + i);
        PackBuilder pack = new PackBuilder(77, 500, names);
        for (int i = 0; i < samples; i++) {
            Arrays.fill(row, i);
            row[0] = 1_900 + i * 1_000L;
            pack.sample(row.clone());
        }
        pack(pack);
        assertThat(Queued.blocks(queue)).isEqualTo(2);
        assertThat(block(0).cells()).isLessThanOrEqualTo(Block.MAX_CELLS);
        assertThat(Queued.samples(queue)).hasSize(samples * (6 + 2 * collectors));
        assertThat(block(1).layout()).isSameAs(block(0).layout());
    }

    @Test
    void ofAPackTheFirstSamplesThatFitAreTaken() {
        queue = new SampleQueue(15);
        flattener = flattener();
        pack(new PackBuilder(77, 500).sample(1_900, 1, 2, 3, 4, 5).sample(2_900, 1, 2, 3, 4, 5).sample(3_900, 1, 2, 3,
                4, 5).sample(4_900, 1, 2, 3, 4, 5));
        assertThat(Queued.samples(queue)).extracting(Queued.Sample::timeMs).containsOnly(1_900L, 2_900L).hasSize(12);
        assertThat(losses.total(DropReason.DROP_REASON_QUEUE_FULL)).isEqualTo(12);
        assertThat(losses.takeGaps()).singleElement().satisfies(gap -> {
            assertThat(gap.getStartTimeMs()).isEqualTo(3_900);
            assertThat(gap.getEndTimeMs()).isEqualTo(4_900);
        });
    }

    @Test
    void twoCollectorsOfOneNameAreOneColumn() {
        pack(new PackBuilder(77, 500, "GC", "GC").sample(1_900, 1, 2, 3, 4, 5, 6, 7, 8, 9));
        assertThat(block(0).layout().columns()).isEqualTo(8);
        assertThat(Queued.samples(queue)).extracting(Queued.Sample::value).contains(6.0, 7.0).doesNotContain(8.0, 9.0);
    }

    /** Of names with blanks between; each one's value is its place. */
    private void report(String names) {
        report(1_700_000_000L, List.of(names.split(" ")));
    }

    private void report(long seconds, List<String> names) {
        flattener.begin("host", 6700, "FilterBolt", 7, seconds, 10, 0);
        for (int i = 0; i < names.size(); i++) {
            flattener.add(names.get(i), i);
        }
        flattener.end();
    }

    private void pack(PackBuilder pack) {
        flattener.begin("host", 6700, "__system", -1, 1_700_000_000, 10, 0);
        flattener.add(Flattener.SAMPLER_METRIC, pack.build());
        flattener.end();
    }

    private Block block(int number) {
        Block block = new Block();
        queue.read(number, block);
        return block;
    }

    /** The names of each block's columns; "-" where a cell is empty. */
    private List<String> blocks() {
        return IntStream.range(0, Queued.blocks(queue)).mapToObj(this::block).map(block -> {
            List<String> names = new ArrayList<>();
            for (int column = 0; column < block.layout().columns(); column++) {
                names.add(block.isPresent(column) ? block.layout().series(column).definition().getName() : "-");
            }
            return String.join(" ", names);
        }).toList();
    }

    private List<Integer> layouts() {
        return IntStream.range(0, Queued.blocks(queue)).mapToObj(this::block).map(block -> block.layout().id())
                .toList();
    }
}
