package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.query.Query;
import com.yahoo.bullet.querying.Querier;
import com.yahoo.bullet.querying.RunningQuery;
import com.yahoo.bullet.querying.partitioning.SimpleEqualityPartitioner;
import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.source.RecordGenerator;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * What three filter and two join tasks make of a query, beside bullet-core's own Querier, fed the same records in one
 * place.
 */
class EngineTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final int RECORDS = 23;

    private final BulletStormConfig config = Queries.config();
    private final RecordGenerator generator = new RecordGenerator(5, 8);

    EngineTest() {
        Map.of("filter.bolt", 3, "join.bolt", 2, "query.spout", 2)
            .forEach((component, executors) -> config.set("bullet.topology." + component + ".parallelism", executors));
        config.set(BulletConfig.RATE_LIMIT_ENABLE, false);
    }

    /** Every other one of probe p, the others of q. */
    private List<BulletRecord<?>> records(int first, int count) {
        List<BulletRecord<?>> records = new ArrayList<>();
        for (int i = first; i < first + count; i++) {
            records.add(generator.probe(i % 2 == 0 ? "p" : "q", i, i, i));
        }
        return records;
    }

    /**
     * A window ends with a record, whichever filter task saw it: one result after another is as if there were one task.
     */
    @ParameterizedTest
    @ValueSource(strings = {
        "SELECT probe_sequence FROM STREAM(3600000, TIME) WINDOWING TUMBLING(5, RECORD)",
        "SELECT probe_sequence FROM STREAM(3600000, TIME) WHERE probe = 'p' WINDOWING TUMBLING(3, RECORD)",
        "SELECT probe_sequence FROM STREAM(3600000, TIME) WHERE probe = 'q' WINDOWING EVERY(2, RECORD, FIRST, 2, RECORD)",
        "SELECT probe, probe_sequence FROM STREAM(3600000, TIME) WINDOWING TUMBLING(1, RECORD)",
    })
    void windowsOfRecordsAreThoseOfOneQuerier(String bql) {
        SmallStorm storm = new SmallStorm(config);
        PubSubMessage query = Queries.message("q", bql);
        Querier alone = alone(query);
        List<JsonArray> expected = new ArrayList<>();
        storm.submit(query);

        for (BulletRecord<?> record : records(0, RECORDS)) {
            storm.record(record);
            alone.consume(record.copy());
            if (alone.isClosed()) {
                expected.add(records(alone.getResult().asJSON()));
                alone.reset();
            }
        }

        assertThat(expected).hasSizeGreaterThan(2);
        assertThat(results(storm)).isEqualTo(expected);
        assertThat(storm.board.results).noneMatch(PubSubMessage::hasSignal);
    }

    /**
     * Both kinds at once, since a window takes its time: the first batch of records is in the first window, the second
     * after it. bullet-core reads the machine's clock, so the join bolts' windows, which begin with the first tick, end
     * half a window after the filter bolts': no pause of this JVM shorter than that puts one before the other.
     */
    @Test
    void windowsOfTimeAreThoseOfOneQuerier() {
        Duration window = Duration.ofSeconds(2);
        config.set(BulletStormConfig.JOIN_BOLT_WINDOW_PRE_START_DELAY_TICKS, 1);
        SmallStorm storm = new SmallStorm(config);
        String grouped = "SELECT probe, COUNT(*) AS n, SUM(probe_sequence) AS s FROM STREAM(3600000, TIME) GROUP BY probe WINDOWING ";
        PubSubMessage tumbling = Queries.message("tumbling", grouped + "TUMBLING(" + window.toMillis() + ", TIME)");
        PubSubMessage additive = Queries.message("additive", grouped + "EVERY(" + window.toMillis() + ", TIME, ALL)");
        storm.submit(tumbling);
        storm.submit(additive);
        await("half a window").pollDelay(window.dividedBy(2)).until(() -> true);
        storm.tick();
        Querier tumblingAlone = alone(tumbling);
        Querier additiveAlone = alone(additive);

        for (int i = 1; i <= 2; i++) {
            int results = i;
            for (BulletRecord<?> record : records(i * 100, RECORDS)) {
                storm.record(record);
                tumblingAlone.consume(record.copy());
                additiveAlone.consume(record.copy());
            }
            await("both windows").pollInterval(Duration.ofMillis(20)).atMost(LONG).until(() -> {
                storm.tick();
                return results(storm, "tumbling").size() == results && results(storm, "additive").size() == results;
            });
            assertThat(results(storm, "tumbling").get(i - 1))
                .containsExactlyInAnyOrderElementsOf(records(tumblingAlone.getResult().asJSON()));
            assertThat(results(storm, "additive").get(i - 1))
                .containsExactlyInAnyOrderElementsOf(records(additiveAlone.getResult().asJSON()));
            tumblingAlone.reset();
            additiveAlone.reset();
        }
        assertThat(results(storm, "tumbling").get(1)).isNotEqualTo(results(storm, "additive").get(1));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "SELECT probe_sequence FROM STREAM(1500, TIME) WHERE probe = 'p' LIMIT 100",
        "SELECT probe, COUNT(*) AS n, MIN(probe_sequence) AS least FROM STREAM(1500, TIME) GROUP BY probe",
        "SELECT COUNT(DISTINCT probe_sequence) AS n FROM STREAM(1500, TIME)",
        "SELECT QUANTILE(probe_sequence, LINEAR, 3) FROM STREAM(1500, TIME)",
        "SELECT TOP(2, probe) FROM STREAM(1500, TIME)",
    })
    void aQueryAtItsEndHasTheAnswerOfOneQuerier(String bql) {
        SmallStorm storm = new SmallStorm(config);
        PubSubMessage query = Queries.message("q", bql);
        Querier alone = alone(query);
        storm.submit(query);
        for (BulletRecord<?> record : records(0, RECORDS)) {
            storm.record(record);
            alone.consume(record.copy());
        }

        await("the end").pollInterval(Duration.ofMillis(20)).atMost(LONG).until(() -> {
            storm.tick();
            return !storm.board.results.isEmpty();
        });
        storm.run();

        assertThat(results(storm)).hasSize(1);
        assertThat(results(storm).get(0)).containsExactlyInAnyOrderElementsOf(records(alone.getResult().asJSON()));
        assertThat(storm.board.results.get(0).hasSignal(Metadata.Signal.COMPLETE)).isTrue();
        assertThat(storm.emitted("QuerySpout metadata")).as("the end, looped back to the filter bolts").isEqualTo(1);
    }

    /** Counts how often a record is asked for its partitions. */
    public static final class CountingPartitioner extends SimpleEqualityPartitioner {
        static int records;

        public CountingPartitioner(BulletConfig config) {
            super(config);
        }

        @Override
        @SuppressWarnings("rawtypes") // As bullet-core declares it.
        public Set<String> getKeys(BulletRecord record) {
            records++;
            return super.getKeys(record);
        }
    }

    @ParameterizedTest
    @CsvSource({"false, 0", "true, " + RECORDS})
    void partitionedQueriesSeeWhatTheyWouldWithout(boolean partitioned, int asked) {
        CountingPartitioner.records = 0;
        config.set(BulletConfig.QUERY_PARTITIONER_ENABLE, partitioned);
        config.set(BulletConfig.QUERY_PARTITIONER_CLASS_NAME, CountingPartitioner.class.getName());
        config.set(BulletConfig.EQUALITY_PARTITIONER_FIELDS, new ArrayList<>(List.of("probe", "probe_sequence")));
        SmallStorm storm = new SmallStorm(config);
        Map<String, Integer> matches = Map.of("probe = 'p'", 12, "probe = 'q'", 11, "probe = 'none'", 0,
                "probe_sequence = 4", 1,
            "probe = 'p' AND probe_sequence = 4", 1, "probe = 'q' AND probe_sequence = 4", 0, "probe_sequence > 4", 18,
            "probe = 'p' OR probe = 'q'", 23);
        matches.keySet().forEach(where -> storm.submit(Queries.message(where,
            "SELECT probe_sequence FROM STREAM(3600000, TIME) WHERE " + where + " WINDOWING TUMBLING(1, RECORD)")));
        storm.submit(new PubSubMessage("probe = 'q'", Metadata.Signal.KILL));

        records(0, RECORDS).forEach(storm::record);

        matches.forEach((where, count) ->
            assertThat(results(storm, where)).as(where).hasSize(where.equals("probe = 'q'") ? 0 : count));
        assertThat(CountingPartitioner.records).isEqualTo(asked);
    }

    @Test
    void aQueryThatEmitsTooOftenIsEndedEverywhereWithItsError() {
        config.set(BulletConfig.RATE_LIMIT_ENABLE, true);
        config.set(BulletConfig.RATE_LIMIT_MAX_EMIT_COUNT, 2);
        config.set(BulletConfig.RATE_LIMIT_TIME_INTERVAL, 20);
        SmallStorm storm = new SmallStorm(config);
        storm.submit(Queries.message("q", "SELECT probe FROM STREAM(3600000, TIME) WINDOWING TUMBLING(1, RECORD)"));

        await("the limit").pollInterval(Duration.ofMillis(5)).atMost(LONG).until(() -> {
            records(0, RECORDS).forEach(storm::record);
            return storm.board.results.stream().anyMatch(PubSubMessage::hasSignal);
        });
        storm.run();
        int results = storm.board.results.size();
        records(0, RECORDS).forEach(storm::record);

        assertThat(storm.board.results).as("nothing after the end").hasSize(results);
        PubSubMessage last = storm.board.results.get(results - 1);
        assertThat(last.hasSignal(Metadata.Signal.FAIL)).isTrue();
        assertThat(json(last.getContentAsString()).getAsJsonObject("meta").getAsJsonArray("errors").toString())
                .contains("rate");
        assertThat((long) storm.metric("JoinBolt", 0, "bullet_rate_exceeded_queries")
            + (long) storm.metric("JoinBolt", 1, "bullet_rate_exceeded_queries")).isEqualTo(1L);
        assertThat(storm.emitted("JoinBolt feedback")).as("a kill").isEqualTo(1);
        assertThat(storm.emitted("QuerySpout metadata")).isEqualTo(1);
    }

    private Querier alone(PubSubMessage message) {
        return new Querier(new RunningQuery("alone", (Query) message.getContent(), message.getMetadata()), config);
    }

    private static List<JsonArray> results(SmallStorm storm) {
        return storm.board.results.stream().map(result -> records(result.getContentAsString())).toList();
    }

    private static List<JsonArray> results(SmallStorm storm, String id) {
        Stream<PubSubMessage> those = storm.board.results.stream().filter(result -> result.getId().equals(id));
        return those.map(result -> records(result.getContentAsString())).toList();
    }

    private static JsonArray records(String json) {
        return json(json).getAsJsonArray("records");
    }

    private static JsonObject json(String json) {
        JsonElement parsed = new JsonParser().parse(json);
        return parsed.getAsJsonObject();
    }
}
