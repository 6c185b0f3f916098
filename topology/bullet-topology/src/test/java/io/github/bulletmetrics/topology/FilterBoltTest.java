package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.common.SerializerDeserializer;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.source.RecordGenerator;
import io.github.bulletmetrics.topology.source.SourceSettings;

import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;
import org.apache.storm.tuple.Tuple;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

class FilterBoltTest {
    private static final String TWO_OF_P = "SELECT * FROM STREAM(3600000, TIME) WHERE probe = 'p' LIMIT 2";

    private final FakeCollector collector = new FakeCollector();
    private final FakeContext context = new FakeContext();
    private final RecordGenerator generator = new RecordGenerator(1, 4);
    private final FilterBolt bolt = new FilterBolt(Streams.RECORD_COMPONENT, Queries.config());

    @BeforeEach
    void prepare() {
        bolt.prepare(Map.of(), context, collector.asCollector());
    }

    @Test
    void emitsWhatMatchesWhenTheQueryIsFull() {
        bolt.execute(Queries.query("q", TWO_OF_P));
        bolt.execute(record(generator.probe("p", 1, 1, 1)));
        bolt.execute(record(generator.background(1, 1)));
        assertThat(collector.emitted).isEmpty();

        bolt.execute(record(generator.probe("p", 2, 2, 2)));
        bolt.execute(record(generator.probe("p", 3, 3, 3)));

        assertThat(collector.on(Streams.DEFAULT_STREAM)).hasSize(1);
        List<Object> values = collector.on(Streams.DEFAULT_STREAM).get(0);
        assertThat(values.get(0)).isEqualTo("q");
        ArrayList<BulletRecord<?>> records = SerializerDeserializer.fromBytes((byte[]) values.get(1));
        assertThat(records).extracting(found -> found.typedGet("probe_sequence").getValue()).containsExactly(1L, 2L);
        assertThat(collector.acked).hasSize(5);
    }

    @Test
    void aKilledQuerySeesNothing() {
        bolt.execute(Queries.query("q", TWO_OF_P));
        bolt.execute(Queries.signal("q", Metadata.Signal.KILL));
        bolt.execute(record(generator.probe("p", 1, 1, 1)));
        bolt.execute(record(generator.probe("p", 2, 2, 2)));

        assertThat(collector.emitted).isEmpty();
        assertThat(collector.acked).hasSize(4);
    }

    @Test
    void whatIsNoQueryIsAckedAndLeftToTheJoinBolt() {
        bolt.execute(Queries.notAQuery("q"));
        assertThat(collector.emitted).isEmpty();
        assertThat(collector.acked).hasSize(1);
    }

    @Test
    void stampsTheStagesOfItsWayIntoARecordWhereTheirFieldsAreNamed() {
        BulletRecord<?> plain = generator.background(1, 1);
        bolt.execute(record(plain, 17L));
        assertThat(plain.hasField("bullet_received_ms")).as("as Bullet has it by default").isFalse();

        BulletStormConfig config = Queries.config();
        config.set(SourceSettings.RECEIVED_FIELD, "bullet_received_ms");
        config.set(SourceSettings.FILTERED_FIELD, "bullet_filtered_ms");
        FilterBolt stamping = new FilterBolt(Streams.RECORD_COMPONENT, config);
        stamping.prepare(Map.of(), new FakeContext(), collector.asCollector());
        long before = System.currentTimeMillis();
        stamping.execute(Queries.query("q",
                "SELECT bullet_received_ms, bullet_filtered_ms FROM STREAM(3600000, TIME) LIMIT 1"));
        stamping.execute(record(generator.background(2, 1), 17L));

        ArrayList<BulletRecord<
                ?>> found = SerializerDeserializer.fromBytes((byte[]) collector.on(Streams.DEFAULT_STREAM).get(0).get(
                1));
        assertThat(found.get(0).typedGet("bullet_received_ms").getValue()).isEqualTo(17L);
        assertThat((Long) found.get(0).typedGet("bullet_filtered_ms").getValue())
                .isBetween(before, System.currentTimeMillis());
    }

    @Test
    void theLatencyIsTheMeanSinceTheRecordsTimestamps() {
        long now = System.currentTimeMillis();
        bolt.execute(record(generator.background(1, now), now - 1_000));
        bolt.execute(record(generator.background(2, now), now - 3_000));

        assertThat((Double) context.value("bullet_filter_latency")).isBetween(2_000.0, 3_000.0);
        assertThat(context.value("bullet_filter_latency")).as("without records").isNull();
    }

    @Test
    void whatHasEndedDuringAReplayIsNotBroughtBackByIt() {
        FilterBolt replaying = new FilterBolt(Streams.RECORD_COMPONENT, Queries.replayConfig());
        replaying.prepare(Map.of(), context, collector.asCollector());
        replaying.execute(Queries.query("full", TWO_OF_P));
        replaying.execute(record(generator.probe("p", 1, 1, 1)));
        replaying.execute(record(generator.probe("p", 2, 2, 2)));
        assertThat(collector.on(Streams.DEFAULT_STREAM)).as("the full one").hasSize(1);
        replaying.execute(Queries.signal("killed", Metadata.Signal.KILL));

        replaying.execute(Queries.batch(collector, Queries.message("full", TWO_OF_P),
                Queries.message("killed", TWO_OF_P),
            Queries.message("missed", TWO_OF_P)));
        replaying.execute(record(generator.probe("p", 3, 3, 3)));
        replaying.execute(record(generator.probe("p", 4, 4, 4)));

        assertThat(collector.on(Streams.DEFAULT_STREAM)).extracting(values -> values.get(0))
                .containsExactly("full", "missed");
    }

    @Test
    void reportsItsQueriesEverySoManyTicks() {
        BulletStormConfig config = Queries.config();
        config.set(BulletStormConfig.FILTER_BOLT_STATS_REPORT_TICKS, 5);
        FilterBolt reporting = new FilterBolt(Streams.RECORD_COMPONENT, config);
        reporting.prepare(Map.of(), context, collector.asCollector());
        reporting.execute(Queries.query("q", TWO_OF_P));
        reporting.execute(Queries.query("q", TWO_OF_P));

        List<String> reports = logged(() -> {
            for (int tick = 0; tick < 14; tick++) {
                reporting.execute(FakeTuples.tick());
            }
        });

        assertThat(reports).hasSize(2)
                .allSatisfy(report -> assertThat(report).contains("QUERY_COUNT=1").endsWith("duplicates: 1"));
    }

    /** What the bolt logs meanwhile. */
    private static List<String> logged(Runnable work) {
        List<String> lines = new ArrayList<>();
        Logger logger = (Logger) LogManager.getLogger(FilterBolt.class);
        AbstractAppender appender = new AbstractAppender("kept", null, null, false, Property.EMPTY_ARRAY) {
            @Override
            public void append(LogEvent event) {
                lines.add(event.getMessage().getFormattedMessage());
            }
        };
        appender.start();
        logger.addAppender(appender);
        try {
            work.run();
        } finally {
            logger.removeAppender(appender);
        }
        return lines;
    }

    private static Tuple record(BulletRecord<?> record) {
        return record(record, System.currentTimeMillis());
    }

    private static Tuple record(BulletRecord<?> record, long timestamp) {
        return FakeTuples.tuple(Streams.RECORD_COMPONENT, Streams.DEFAULT_STREAM, record, timestamp);
    }
}
