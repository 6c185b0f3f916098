package io.github.bulletmetrics.topology.dsl;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.dsl.BulletDSLException;
import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.FakeContext;
import io.github.bulletmetrics.topology.source.SourceSettings;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

class DSLSpoutTest {
    private final FakeSpoutCollector collector = new FakeSpoutCollector();
    private final FakeContext context = new FakeContext();

    @BeforeEach
    void forget() {
        ListConnector.READS.clear();
    }

    private DSLSpout open(Map<String, Object> settings) {
        DSLSpout spout = new DSLSpout(DSLSettings.with(settings));
        spout.open(Map.of(), context, collector.asCollector());
        return spout;
    }

    @Test
    void withoutTheBoltEachMessageIsATupleOfARecordAndATime() {
        DSLSpout spout = open(Map.of());
        ListConnector.reads(DSLSettings.message(1), DSLSettings.message(2));
        long before = System.currentTimeMillis();

        spout.nextTuple();

        assertThat(collector.emitted).hasSize(2).allSatisfy(emitted -> {
            assertThat(emitted.id()).isEqualTo(42L);
            assertThat((Long) emitted.values().get(1)).isBetween(before, System.currentTimeMillis());
        });
        assertThat(collector.emitted)
                .extracting(emitted -> ((BulletRecord<?>) emitted.values().get(0)).typedGet("id").getValue())
            .containsExactly(1, 2);
    }

    @Test
    void withTheBoltEachReadIsOneTuple() {
        DSLSpout spout = open(Map.of(BulletStormConfig.DSL_BOLT_ENABLE, true));
        ListConnector.reads(DSLSettings.message(1), DSLSettings.message(2));
        ListConnector.reads(DSLSettings.message(3));
        ListConnector.reads();

        spout.nextTuple();
        spout.nextTuple();
        spout.nextTuple();

        assertThat(collector.emitted).extracting(emitted -> emitted.values().get(0)).containsExactly(
            List.of(DSLSettings.message(1), DSLSettings.message(2)), List.of(DSLSettings.message(3)));
        assertThat(collector.emitted).allSatisfy(emitted -> {
            assertThat(emitted.id()).isEqualTo(42L);
            assertThat(emitted.values()).hasSize(2);
        });
    }

    @Test
    void countsWhatItReadsAndWhatItLeavesOut() {
        DSLSpout spout = open(Map.of());
        ListConnector.reads(DSLSettings.message(1), null, "no map, so no record", DSLSettings.message(2));

        spout.nextTuple();

        assertThat(collector.emitted).hasSize(2);
        assertThat(context.value("bullet_source_records")).isEqualTo(4L);
        assertThat(context.value("bullet_source_left_out"))
                .isEqualTo(Map.of("empty", 1L, "conversion", 1L, "sampling", 0L));
        assertThat(context.metrics).as("no broker, no figures of one").doesNotContainKeys("bullet_source_lag",
                "bullet_source_bytes");
    }

    @Test
    void aReadThatFailsBringsNothingAndTheNextOneIsMade() {
        DSLSpout spout = open(Map.of());
        ListConnector.READS.add(new BulletDSLException("the broker is away"));
        ListConnector.reads(DSLSettings.message(1));

        spout.nextTuple();
        assertThat(collector.emitted).isEmpty();
        spout.nextTuple();
        assertThat(collector.emitted).hasSize(1);
    }

    @Test
    void samplesMessagesEachForItself() {
        DSLSpout spout = open(Map.of(BulletStormConfig.DSL_BOLT_ENABLE, true, SourceSettings.SAMPLING_PERCENTAGE, 20));
        int reads = 200;
        int size = 500;
        for (int i = 0; i < reads; i++) {
            ListConnector.reads(java.util.stream.IntStream.range(0, size).mapToObj(DSLSettings::message).toArray());
            spout.nextTuple();
        }

        long taken = collector.emitted.stream().mapToLong(emitted -> ((List<?>) emitted.values().get(0)).size()).sum();
        double sigma = Math.sqrt(reads * size * 0.2 * 0.8);
        assertThat((double) taken).isBetween(reads * size * 0.2 - 6 * sigma, reads * size * 0.2 + 6 * sigma);
        assertThat(context.value("bullet_source_records")).isEqualTo((long) reads * size);
        assertThat(context.value("bullet_source_left_out"))
                .isEqualTo(Map.of("empty", 0L, "sampling", reads * size - taken));
    }

    @Test
    void hasNoMetricsWhereTheyAreOff() {
        open(Map.of(SourceSettings.METRICS_ENABLE, false));
        assertThat(context.metrics).isEmpty();
    }

    @Test
    void itsMetricsHaveBulletsIntervals() {
        open(Map.of("bullet.topology.metrics.built.in.emit.interval.mapping",
                Map.of("bullet_source_records", 7, "default", 3)));
        assertThat(context.intervals).isEqualTo(Map.of("bullet_source_records", 7, "bullet_source_left_out", 3));
    }

    @Test
    void opensAndClosesItsConnector() {
        DSLSpout spout = open(Map.of());
        ListConnector connector = (ListConnector) spout.connector();
        assertThat(connector.initialized).isTrue();
        spout.close();
        assertThat(connector.closed).isTrue();
    }
}
