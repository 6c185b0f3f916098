package io.github.bulletmetrics.storm.flatten;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.sun.management.ThreadMXBean;
import io.github.bulletmetrics.storm.latency.LatencyHistogram;
import io.github.bulletmetrics.storm.latency.LatencyPack;
import io.github.bulletmetrics.storm.proto.v1.BucketSpan;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.HistogramSample;
import io.github.bulletmetrics.storm.proto.v1.SeriesDefinition;
import io.github.bulletmetrics.storm.proto.v1.Shape;
import io.github.bulletmetrics.storm.proto.v1.Temporality;
import io.github.bulletmetrics.storm.proto.v1.WorkerInfo;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.Queued;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Series;
import io.github.bulletmetrics.storm.queue.Workers;
import io.github.bulletmetrics.storm.sampler.PackBuilder;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Collections;
import java.util.ConcurrentModificationException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class FlattenerTest {
    private final SampleQueue queue = new SampleQueue(10_000);
    private final Losses losses = new Losses();
    private final Workers workers = new Workers();
    private final List<Throwable> failures = new ArrayList<>();
    private final Flattener flattener = new Flattener(queue, losses, workers, 1_000, failures::add);

    @Test
    void aNumberOfAnyClassIsASample() {
        flatten(Map.of("long", 1L));
        flatten(Map.of("double", 2.5));
        flatten(Map.of("float", 3.5f));
        flatten(Map.of("atomic", new AtomicLong(4)));
        flatten(Map.of("big", new BigDecimal("5.25")));
        assertThat(samples()).containsExactly("long[]=1.0", "double[]=2.5", "float[]=3.5", "atomic[]=4.0",
                "big[]=5.25");
        SeriesDefinition definition = series(0).definition();
        assertThat(definition.getHost()).isEqualTo("host");
        assertThat(definition.getPort()).isEqualTo(6700);
        assertThat(definition.getComponent()).isEqualTo("FilterBolt");
        assertThat(definition.getTask()).isEqualTo(7);
        assertThat(definition.getIntervalMs()).isEqualTo(10_000);
        assertThat(definition.getShape()).isEqualTo(Shape.SHAPE_NUMBER);
        assertThat(definition.getTemporality()).isEqualTo(Temporality.TEMPORALITY_UNSPECIFIED);
        assertThat(queued(0).timeMs()).isEqualTo(1_700_000_000_000L);
    }

    @Test
    void aTaskIsWhereItsNewestReportCameFrom() {
        for (String place : new String[] {"a", "b", "a"}) {
            flattener.begin(place, 6700, "__system", -1, 1_700_000_000L, 10, 0);
            flattener.add(Flattener.SAMPLER_METRIC, new PackBuilder(77, 500).sample(1, 2, 3, 4, 5, 6).build());
            flattener.end();
        }
        long timeS = 1_700_000_000L;
        for (String place : new String[] {"a", "b", "a"}) {
            flattener.begin(place, 6700, "LoopBolt", 7, timeS, 10, 0);
            flattener.end();
            timeS += 10;
        }
        assertThat(workers.changedSince(0, 9).workers()).extracting(WorkerInfo::getHost, WorkerInfo::getTasksList)
                .containsExactly(tuple("b", List.of()), tuple("a", List.of(7)));
    }

    @Test
    void aPackOfTheLatencyHookIsItsDistributions() throws Exception {
        LatencyHistogram filter = new LatencyHistogram();
        for (long ms : new long[] {-1, 0, 1, 1, 2, 1_000}) {
            filter.record(ms);
        }
        byte[] pack = new LatencyPack.Writer().add("bullet_filter_latency_seconds", "", filter)
                .add("other", "fail", new LatencyHistogram()).write();
        flatten(Map.of(Flattener.LATENCY_METRIC, pack));
        flatten(Map.of(Flattener.LATENCY_METRIC, pack));
        assertThat(queue.published()).isEqualTo(4);
        assertThat(series(2)).as("the same series").isSameAs(series(0));
        SeriesDefinition definition = series(0).definition();
        assertThat(definition.getName()).isEqualTo("bullet_filter_latency_seconds");
        assertThat(definition.getKeyList()).isEmpty();
        assertThat(definition.getShape()).isEqualTo(Shape.SHAPE_HISTOGRAM);
        assertThat(definition.getTemporality()).isEqualTo(Temporality.TEMPORALITY_CUMULATIVE);
        assertThat(definition.getIntervalMs()).isEqualTo(10_000);
        assertThat(series(1).definition().getKeyList()).containsExactly("fail");
        assertThat(HistogramSample.parseFrom(queued(0).distribution()))
                .isEqualTo(HistogramSample.newBuilder().setSeriesId(series(0).id())
                .setTimeMs(queued(0).timeMs()).setSchema(3).setZeroThreshold(0.0005).setZeroCount(1).setCount(5)
                .setSum(1.004).setNegativeCount(1)
                .addPositiveSpans(BucketSpan.newBuilder().setOffset(-79).setLength(1)).addPositiveCounts(2)
                .addPositiveSpans(BucketSpan.newBuilder().setOffset(7).setLength(1)).addPositiveCounts(1)
                .addPositiveSpans(BucketSpan.newBuilder().setOffset(70).setLength(1)).addPositiveCounts(1).build());
        assertThat(losses.total()).isZero();
    }

    @Test
    void aPackThatIsNoneIsCountedAndTheReportGoesOn() {
        flattener.begin("host", 6700, "FilterBolt", 7, 1_700_000_000L, 10, 0);
        flattener.add(Flattener.LATENCY_METRIC, new byte[] {2, 3});
        flattener.add("after", 1);
        flattener.end();
        assertThat(samples()).containsExactly("after[]=1.0");
        assertThat(failures).hasSize(1);
        assertThat(losses.total(DropReason.DROP_REASON_INTERNAL)).isEqualTo(1);
    }

    @Test
    void distributionsForWhichThereIsNoRoomAreCounted() {
        SampleQueue small = new SampleQueue(1);
        Flattener into = new Flattener(small, losses, workers, 3, failures::add);
        byte[] pack = new LatencyPack.Writer().add("a", "", new LatencyHistogram()).add("b", "", new LatencyHistogram())
                .write();
        for (int i = 0; i < 2; i++) {
            into.begin("host", 6700, "FilterBolt", 7, 1_700_000_000L, 10, 0);
            into.add(Flattener.LATENCY_METRIC, pack);
            into.end();
        }
        assertThat(small.published()).isEqualTo(1);
        assertThat(losses.total(DropReason.DROP_REASON_QUEUE_FULL)).isEqualTo(1);
        assertThat(losses.total(DropReason.DROP_REASON_SERIES_LIMIT))
                .as("names of the source, of the packs and of one distribution").isEqualTo(2);
    }

    @Test
    void aMapIsASampleForEachNumberAtAnyDepthWithKeysOfAnyClass() {
        Map<Object, Object> map = new LinkedHashMap<>();
        map.put("a:default", 1);
        map.put(42L, 2);
        map.put(null, 3);
        map.put("nested", Map.of("deeper", Map.of("x", 4)));
        map.put("nothing", null);
        map.put("empty", Map.of());
        flatten(Collections.singletonMap("m", map));
        assertThat(samples()).containsExactly("m[a:default]=1.0", "m[42]=2.0", "m[null]=3.0",
                "m[nested, deeper, x]=4.0");
        assertThat(series(0).definition().getShape()).isEqualTo(Shape.SHAPE_MAP);
        assertThat(losses.total()).isZero();
    }

    @Test
    void aNumberAndAMapOfOneNameAreTwoSeries() {
        flatten(Map.of("bullet_active_replays", 1L));
        flatten(Map.of("bullet_active_replays", Map.of("x", 2L)));
        flatten(Map.of("bullet_active_replays", 3L));
        assertThat(series(0)).isSameAs(series(2)).isNotSameAs(series(1));
    }

    @Test
    void aSeriesIsKnownAgainWhateverStringsItsNamesAreIn() {
        flatten(Map.of("name", Map.of("key", 1)));
        flatten(Map.of(new String("name"), Map.of(new String("key"), 2)));
        flattener.begin(new String("host"), 6700, new String("FilterBolt"), 7, 1, 60, 0);
        flattener.add("name", Map.of("key", 3));
        flattener.end();
        assertThat(series(0)).isSameAs(series(1)).isNotSameAs(series(2));
        assertThat(series(2).definition().getIntervalMs()).isEqualTo(60_000);
    }

    @Test
    void notANumberIsPassedOnAndCountedByTheCollector() {
        flatten(Map.of("nan", Double.NaN));
        flatten(Map.of("inf", Double.POSITIVE_INFINITY));
        assertThat(samples()).containsExactly("nan[]=NaN", "inf[]=Infinity");
    }

    @Test
    void nullsAreSkippedAndWhatHoldsNoNumberIsCounted() {
        flatten(Collections.singletonMap("null", null));
        assertThat(losses.total()).isZero();
        flatten(Map.of("text", "1", "flag", true, "list", List.of(1, 2)));
        flatten(Map.of("bytes", new byte[] {1}));
        flatten(Map.of("map", Map.of("text", "1", "number", 1)));
        assertThat(samples()).containsExactly("map[number]=1.0");
        assertThat(losses.total(DropReason.DROP_REASON_UNSUPPORTED_VALUE)).isEqualTo(5);
        assertThat(losses.takeGaps()).isEmpty();
    }

    @Test
    void aMapThatHoldsItselfEnds() {
        Map<String, Object> map = new HashMap<>();
        map.put("self", map);
        map.put("number", 1);
        flatten(Map.of("m", map));
        assertThat(samples()).hasSize(Flattener.MAX_DEPTH);
        assertThat(losses.total(DropReason.DROP_REASON_UNSUPPORTED_VALUE)).isEqualTo(1);
    }

    @Test
    void aMapThatChangesWhileItIsReadIsReadAgain() {
        flatten(Map.of("m", new Unruly(Flattener.MAX_READS - 1)));
        assertThat(samples()).containsExactly("m[a]=1.0", "m[b]=2.0");
        assertThat(losses.total()).isZero();
    }

    @Test
    void aMapThatChangesInEachReadKeepsWhatWasReadLastAndIsCounted() {
        flattener.begin("host", 6700, "FilterBolt", 7, 1_700_000_000, 10, 0);
        flattener.add("before", 1);
        flattener.add("m", new Unruly(Integer.MAX_VALUE));
        flattener.add("after", 2);
        flattener.end();
        assertThat(samples()).containsExactly("before[]=1.0", "m[a]=1.0", "after[]=2.0");
        assertThat(losses.total(DropReason.DROP_REASON_INTERNAL)).isEqualTo(1);
        assertThat(failures).singleElement().isInstanceOf(ConcurrentModificationException.class);
        assertThat(losses.takeGaps()).singleElement()
                .satisfies(gap -> assertThat(gap.getStartTimeMs()).isEqualTo(1_700_000_000_000L));
    }

    @Test
    void aNestedMapThatChangesInEachReadKeepsTheRestOfTheOuterMap() {
        Map<Object, Object> map = new LinkedHashMap<>();
        map.put("before", 1);
        map.put("nested", new Unruly(Integer.MAX_VALUE));
        map.put("after", 2);
        flatten(Map.of("m", map));
        assertThat(samples()).containsExactly("m[before]=1.0", "m[nested, a]=1.0", "m[after]=2.0");
        assertThat(losses.total(DropReason.DROP_REASON_INTERNAL)).isEqualTo(1);
    }

    @Test
    void aBadEntryOfAMapIsSkippedAndCountedAndTheRestIsKept() {
        Map<Object, Object> map = new LinkedHashMap<>();
        map.put("first", 1);
        map.put(new Key(() -> {
            throw new IllegalStateException("no text");
        }), 2);
        map.put(new Key(() -> {
            throw new ConcurrentModificationException("a key that changes");
        }), 3);
        map.put(new Key(() -> null), 4);
        map.put(new Key(() -> {
            throw new AssertionError("not an exception");
        }), 4);
        map.put("fails", new BadNumber());
        map.put("nested", mapOf(new Key(() -> {
            throw new StackOverflowError();
        }), 5, "x", 6));
        map.put("text", "7");
        map.put("list", List.of(8));
        map.put("", 9);
        map.put("nan", Double.NaN);
        map.put("last", 10);
        flatten(Map.of("m", map));
        assertThat(samples()).containsExactly("m[first]=1.0", "m[nested, x]=6.0", "m[]=9.0", "m[nan]=NaN",
                "m[last]=10.0");
        assertThat(losses.total(DropReason.DROP_REASON_INTERNAL)).isEqualTo(6);
        assertThat(losses.total(DropReason.DROP_REASON_UNSUPPORTED_VALUE)).isEqualTo(2);
    }

    @Test
    void aMapWhoseIteratorFailsKeepsWhatWasReadAndIsCounted() {
        flatten(Map.of("m", new java.util.AbstractMap<String, Integer>() {
            @Override
            public Set<Entry<String, Integer>> entrySet() {
                java.util.Iterator<Integer> numbers = List.of(1, 2).iterator();
                return new java.util.AbstractSet<>() {
                    @Override
                    public java.util.Iterator<Entry<String, Integer>> iterator() {
                        return new java.util.Iterator<>() {
                            @Override
                            public boolean hasNext() {
                                return true;
                            }

                            @Override
                            public Entry<String, Integer> next() {
                                Integer number = numbers.next();
                                return Map.entry("k" + number, number);
                            }
                        };
                    }

                    @Override
                    public int size() {
                        return 2;
                    }
                };
            }
        }));
        assertThat(samples()).containsExactly("m[k1]=1.0", "m[k2]=2.0");
        assertThat(losses.total(DropReason.DROP_REASON_INTERNAL)).isEqualTo(1);
    }

    @Test
    void whatTheQueueDoesNotTakeIsCountedWithItsTimes() {
        SampleQueue small = new SampleQueue(2);
        Flattener over = new Flattener(small, losses, workers, 100, failures::add);
        over.begin("host", 6700, "FilterBolt", 7, 1_700_000_000, 10, 0);
        over.add("m", new LinkedHashMap<>(Map.of("a", 1, "b", 2, "c", 3)));
        over.add("n", 4);
        over.end();
        assertThat(small.published()).isEqualTo(2);
        assertThat(losses.total(DropReason.DROP_REASON_QUEUE_FULL)).isEqualTo(2);
        assertThat(losses.takeGaps()).singleElement()
                .satisfies(gap -> assertThat(gap.getStartTimeMs()).isEqualTo(1_700_000_000_000L));
    }

    @Test
    void moreNamesThanTheLimitAreCountedUntilSilentSourcesMakeRoom() {
        Flattener limited = new Flattener(queue, losses, workers, 3, failures::add);
        report(limited, "old", 0, Map.of("a", 1));
        report(limited, "new", 1_000, new LinkedHashMap<>(Map.of("b", 1)));
        assertThat(losses.total(DropReason.DROP_REASON_SERIES_LIMIT)).isEqualTo(1);
        report(limited, "old", 1_000, Map.of("a", 1));
        assertThat(losses.total(DropReason.DROP_REASON_SERIES_LIMIT)).as("known series stay").isEqualTo(1);
        report(limited, "new", SeriesTable.FORGET_AFTER_MS + 1_000, Map.of("b", 1));
        assertThat(losses.total(DropReason.DROP_REASON_SERIES_LIMIT)).isEqualTo(1);
        assertThat(samples()).containsExactly("a[]=1.0", "a[]=1.0", "b[]=1.0");
    }

    @Test
    void anOverlongNameIsNoSeries() {
        flatten(Map.of("x".repeat(SeriesTable.MAX_TEXT_CHARS + 1), 1));
        assertThat(losses.total(DropReason.DROP_REASON_SERIES_LIMIT)).isEqualTo(1);
    }

    @Test
    void aPackIsItsSamplesAtTheirOwnTimes() {
        byte[] pack = new PackBuilder(77, 500, "G1 Young Generation").sample(1_900, 10, 20, 30, 40, 50, 60, 70)
                .sample(2_900, 11, 21, 31, 41, 51, 61, 71).build();
        sampler(pack);
        assertThat(samples()).containsExactly("cpu.user_ms[]=10.0", "cpu.system_ms[]=20.0", "heap.used_bytes[]=30.0",
                "heap.committed_bytes[]=40.0",
                "heap.limit_bytes[]=50.0", "process.start_time_ms[]=500.0", "gc.count[G1 Young Generation]=60.0",
                "gc.time_ms[G1 Young Generation]=70.0", "cpu.user_ms[]=11.0", "cpu.system_ms[]=21.0",
                "heap.used_bytes[]=31.0",
                "heap.committed_bytes[]=41.0", "heap.limit_bytes[]=51.0", "process.start_time_ms[]=500.0",
                "gc.count[G1 Young Generation]=61.0",
                "gc.time_ms[G1 Young Generation]=71.0");
        assertThat(queued(0).timeMs()).isEqualTo(1_900);
        assertThat(queued(8).timeMs()).isEqualTo(2_900);
        assertThat(Queued.blocks(queue)).isEqualTo(1);
        SeriesDefinition cpu = series(0).definition();
        assertThat(cpu.getShape()).isEqualTo(Shape.SHAPE_SAMPLER);
        assertThat(cpu.getTemporality()).isEqualTo(Temporality.TEMPORALITY_CUMULATIVE);
        assertThat(cpu.getIntervalMs()).isEqualTo(1_000);
        assertThat(cpu.getPackSpanMs()).isEqualTo(10_000);
        assertThat(cpu.getComponent()).isEqualTo("__system");
        assertThat(cpu.getTask()).isEqualTo(-1);
        assertThat(series(2).definition().getTemporality()).isEqualTo(Temporality.TEMPORALITY_GAUGE);
        assertThat(workers.changedSince(0, 9).workers()).extracting(WorkerInfo::getPid, WorkerInfo::getStartTimeMs)
                .containsExactly(org.assertj.core.groups.Tuple.tuple(77L, 500L));
    }

    /** They are a source of their own, beside the system's metrics of the same worker, which report less often. */
    @Test
    void livePacksAreTheSamplersInShorterPacks() {
        sampler(new PackBuilder(77, 500, "G1").sample(1_900, 1, 2, 3, 4, 5, 6, 7).build());
        for (int i = 0; i < 3; i++) {
            flattener.begin("host", 6700, "__system", -1, 1_700_000_000 + 2 * i, 2, 0);
            flattener.add(Flattener.LIVE_SAMPLER_METRIC, new PackBuilder(77, 500, "G1").sample(2_900 + i * 2_000, 1, 2,
                    3, 4, 5, 6, 7).sample(3_900 + i * 2_000, 1, 2, 3, 4, 5, 6, 7).build());
            flattener.end();
        }
        assertThat(samples()).hasSize(8 + 3 * 16);
        assertThat(Queued.blocks(queue)).isEqualTo(4);
        for (int i = 0; i < 8; i++) {
            SeriesDefinition slow = series(i).definition();
            SeriesDefinition live = series(8 + i).definition();
            assertThat(live.toBuilder().setId(slow.getId()).setPackSpanMs(10_000).build()).isEqualTo(slow);
            assertThat(live.getPackSpanMs()).isEqualTo(2_000);
            assertThat(series(24 + i)).isSameAs(series(8 + i));
        }
        assertThat(losses.total()).isZero();
        assertThat(workers.changedSince(0, 9).workers()).hasSize(1);
    }

    @Test
    void anotherProcessAtTheSamePlaceKeepsTheSeries() {
        sampler(new PackBuilder(77, 500, "G1").sample(1, 2, 3, 4, 5, 6, 7, 8).build());
        sampler(new PackBuilder(78, 900, "G1").sample(1, 2, 3, 4, 5, 6, 7, 8).build());
        for (int i = 0; i < 8; i++) {
            assertThat(series(i + 8)).isSameAs(series(i));
        }
        assertThat(workers.changedSince(0, 9).workers()).extracting(WorkerInfo::getPid).containsExactly(78L);
    }

    @Test
    void theHostComesWithTheSamplesThatHaveIt() {
        sampler(new PackBuilder(77, 500).withHost().lost(13, 900, 12_900).sample(19_900, 1, 2, 3, 4, 5, 10, 20, 30, 40,
                50, 8)
                .sample(20_900, 1, 2, 3, 4, 5, -1, -1, -1, -1, -1, -1).build());
        assertThat(samples().subList(12, samples().size())).containsExactly("host.cpu_ms[user]=10.0",
                "host.cpu_ms[system]=20.0", "host.cpu_ms[iowait]=30.0",
                "host.cpu_ms[steal]=40.0", "host.cpu_ms[idle]=50.0", "host.cpu_cores[]=8.0");
        assertThat(queued(12).timeMs()).isEqualTo(19_900);
        SeriesDefinition user = series(12).definition();
        assertThat(user.getShape()).isEqualTo(Shape.SHAPE_SAMPLER);
        assertThat(user.getTemporality()).isEqualTo(Temporality.TEMPORALITY_CUMULATIVE);
        assertThat(user.getIntervalMs()).isEqualTo(10_000);
        assertThat(series(17).definition().getTemporality()).isEqualTo(Temporality.TEMPORALITY_GAUGE);
        assertThat(losses.total(DropReason.DROP_REASON_QUEUE_FULL)).as("of the host that of 9.9 s")
                .isEqualTo(13 * 6 + 6);
    }

    @Test
    void aMachineWithoutSuchFiguresHasNoSeriesOfThem() {
        sampler(new PackBuilder(77, 500).sample(1_900, 1, 2, 3, 4, 5).build());
        assertThat(samples()).noneMatch(sample -> sample.startsWith("host."));
    }

    @Test
    void whatTheSamplerCouldNotReadOrKeepIsLeftOut() {
        sampler(new PackBuilder(77, 500).lost(3, 100, 2_100).sample(3_000, -1, -1, 4, 5, 6).build());
        assertThat(samples()).containsExactly("heap.used_bytes[]=4.0", "heap.committed_bytes[]=5.0",
                "heap.limit_bytes[]=6.0", "process.start_time_ms[]=500.0");
        assertThat(losses.total(DropReason.DROP_REASON_QUEUE_FULL)).isEqualTo(3 * 6);
        assertThat(losses.takeGaps()).singleElement().satisfies(gap -> {
            assertThat(gap.getHost()).isEqualTo("host");
            assertThat(gap.getPort()).isEqualTo(6700);
            assertThat(gap.getStartTimeMs()).isEqualTo(100);
            assertThat(gap.getEndTimeMs()).isEqualTo(2_100);
        });
    }

    @Test
    void aPackThatIsNoneIsCounted() {
        sampler(new byte[] {1, 2, 3});
        assertThat(losses.total(DropReason.DROP_REASON_INTERNAL)).isEqualTo(1);
        assertThat(failures).singleElement().isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void knownNumbersCostNoMemory() {
        int numbers = 20;
        String[] names = new String[numbers];
        Double[] values = new Double[numbers];
        for (int i = 0; i < numbers; i++) {
            names[i] = "name" + i;
            values[i] = (double) i;
        }
        int warmUp = 20_000;
        int rounds = 20_000;
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long thread = Thread.currentThread().getId();
        long before = 0;
        for (int round = 0; round < warmUp + rounds; round++) {
            if (round == warmUp) {
                before = threads.getThreadAllocatedBytes(thread);
            }
            flattener.begin("host", 6700, "FilterBolt", 7, round, 10, 0);
            for (int i = 0; i < numbers; i++) {
                flattener.add(names[i], values[i]);
            }
            flattener.end();
            queue.release(queue.published());
        }
        long bytes = threads.getThreadAllocatedBytes(thread) - before;
        assertThat((double) bytes / ((long) rounds * numbers)).as("bytes a number").isLessThan(0.1);
    }

    private void flatten(Map<String, ?> dataPoints) {
        flattener.begin("host", 6700, "FilterBolt", 7, 1_700_000_000, 10, 0);
        dataPoints.forEach(flattener::add);
        flattener.end();
    }

    private void sampler(byte[] pack) {
        flattener.begin("host", 6700, "__system", -1, 1_700_000_000, 10, 0);
        flattener.add(Flattener.SAMPLER_METRIC, pack);
        flattener.end();
    }

    private static void report(Flattener to, String component, long nowMs, Map<String, ?> dataPoints) {
        to.begin("host", 6700, component, 7, 1_700_000_000, 10, nowMs);
        dataPoints.forEach(to::add);
        to.end();
    }

    private Queued.Sample queued(int sample) {
        return Queued.samples(queue).get(sample);
    }

    private Series series(int sample) {
        return queued(sample).series();
    }

    private List<String> samples() {
        List<String> samples = new ArrayList<>();
        for (Queued.Sample sample : Queued.samples(queue)) {
            SeriesDefinition definition = sample.series().definition();
            samples.add(definition.getName() + definition.getKeyList() + "=" + sample.value());
        }
        return samples;
    }

    private static Map<Object, Object> mapOf(Object key, Object value, Object otherKey, Object otherValue) {
        Map<Object, Object> map = new LinkedHashMap<>();
        map.put(key, value);
        map.put(otherKey, otherValue);
        return map;
    }

    /** A key whose text is what the given supplier returns or throws. */
    private static final class Key {
        private final Supplier<String> text;

        Key(Supplier<String> text) {
            this.text = text;
        }

        @Override
        public String toString() {
            return text.get();
        }
    }

    /** A number that fails when it is read. */
    private static final class BadNumber extends Number {
        private static final long serialVersionUID = 1;

        @Override
        public int intValue() {
            throw new UnsupportedOperationException();
        }

        @Override
        public long longValue() {
            throw new UnsupportedOperationException();
        }

        @Override
        public float floatValue() {
            throw new UnsupportedOperationException();
        }

        @Override
        public double doubleValue() {
            throw new UnsupportedOperationException();
        }
    }

    /** A map that is changed by another thread during its first readings. */
    private static final class Unruly extends java.util.AbstractMap<String, Integer> {
        private int changes;

        Unruly(int changes) {
            this.changes = changes;
        }

        @Override
        public Set<Entry<String, Integer>> entrySet() {
            if (changes-- <= 0) {
                return new LinkedHashMap<>(new java.util.TreeMap<>(Map.of("a", 1, "b", 2))).entrySet();
            }
            Map<String, Integer> changing = new HashMap<>(Map.of("a", 1, "b", 2));
            return new java.util.AbstractSet<>() {
                @Override
                public java.util.Iterator<Entry<String, Integer>> iterator() {
                    java.util.Iterator<Entry<String, Integer>> entries = changing.entrySet().iterator();
                    return new java.util.Iterator<>() {
                        @Override
                        public boolean hasNext() {
                            return entries.hasNext();
                        }

                        @Override
                        public Entry<String, Integer> next() {
                            Entry<String, Integer> entry = entries.next();
                            changing.put("more" + changing.size(), 1);
                            return entry;
                        }
                    };
                }

                @Override
                public int size() {
                    return changing.size();
                }
            };
        }
    }
}
