package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.yahoo.bullet.common.SerializerDeserializer;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.querying.RateLimitError;
import com.yahoo.bullet.record.BulletRecord;
import io.github.bulletmetrics.topology.source.RecordGenerator;

import org.apache.storm.tuple.Tuple;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

class JoinBoltTest {
    private static final String LONG_RAW = "SELECT * FROM STREAM(3600000, TIME) LIMIT 2";
    private static final String WINDOWS = "SELECT * FROM STREAM(3600000, TIME) WINDOWING TUMBLING(3600000, TIME)";

    private final FakeCollector collector = new FakeCollector();
    private final FakeContext context = new FakeContext();
    private final JoinBolt bolt = new JoinBolt(Queries.config());

    @BeforeEach
    void prepare() {
        bolt.prepare(Map.of(), context, collector.asCollector());
    }

    @Test
    void aFullQueryEndsAtOnce() {
        bolt.execute(Queries.query("q", LONG_RAW));
        bolt.execute(data("q", 1));
        assertThat(collector.emitted).isEmpty();
        assertThat(context.value("bullet_active_queries")).isEqualTo(1L);

        bolt.execute(data("q", 1));

        assertThat(records(theResult("q", Metadata.Signal.COMPLETE))).isEqualTo(2);
        assertThat(theFeedback("q")).isEqualTo(Metadata.Signal.COMPLETE);
        assertThat(context.value("bullet_active_queries")).isEqualTo(0L);
        assertThat(collector.acked).hasSize(3);
    }

    @Test
    void aQueryPastItsTimeWaitsThreeTicksForItsLastData() {
        bolt.execute(Queries.queryOfAge(1_000, "q", "SELECT * FROM STREAM(1000, TIME) LIMIT 100"));
        bolt.execute(FakeTuples.tick());
        bolt.execute(FakeTuples.tick());
        bolt.execute(data("q", 3));
        bolt.execute(FakeTuples.tick());
        assertThat(collector.emitted).isEmpty();
        assertThat(context.value("bullet_active_queries")).isEqualTo(1L);

        bolt.execute(FakeTuples.tick());

        assertThat(records(theResult("q", Metadata.Signal.COMPLETE))).isEqualTo(3);
        assertThat(context.value("bullet_active_queries")).isEqualTo(0L);
    }

    @Test
    void aKilledQueryLeavesNoResult() {
        bolt.execute(Queries.query("q", LONG_RAW));
        bolt.execute(Queries.signal("q", Metadata.Signal.KILL));
        bolt.execute(Queries.signal("q", Metadata.Signal.KILL));
        bolt.execute(data("q", 2));

        assertThat(collector.emitted).isEmpty();
        assertThat(context.value("bullet_active_queries")).isEqualTo(0L);
        assertThat(context.value("bullet_created_queries")).isEqualTo(1L);
    }

    @Test
    void aQueryThatCannotBeStartedFailsWithItsError() {
        bolt.execute(Queries.notAQuery("q"));

        JsonObject result = theResult("q", Metadata.Signal.FAIL);
        assertThat(result.getAsJsonObject("meta").getAsJsonArray("errors")).hasSize(1);
        assertThat(context.value("bullet_improper_queries")).isEqualTo(1L);
        assertThat(context.value("bullet_created_queries")).isEqualTo(0L);
        assertThat(context.value("bullet_active_queries")).isEqualTo(0L);
    }

    @Test
    void aQueryThatEmitsTooOftenFailsAndIsKilled() {
        bolt.execute(Queries.query("q", LONG_RAW));
        bolt.execute(FakeTuples.tuple(Streams.FILTER_COMPONENT, Streams.ERROR_STREAM, "q", new RateLimitError(10, 5)));

        theResult("q", Metadata.Signal.FAIL);
        assertThat(theFeedback("q")).isEqualTo(Metadata.Signal.KILL);
        assertThat(context.value("bullet_rate_exceeded_queries")).isEqualTo(1L);
        assertThat(context.value("bullet_active_queries")).isEqualTo(0L);
    }

    @Test
    void aQueryThatComesTwiceIsOne() {
        bolt.execute(Queries.query("q", LONG_RAW));
        bolt.execute(Queries.query("q", LONG_RAW));

        assertThat(context.value("bullet_created_queries")).isEqualTo(1L);
        assertThat(context.value("bullet_duplicated_queries")).isEqualTo(1L);
        assertThat(context.value("bullet_active_queries")).isEqualTo(1L);
    }

    @Test
    void aQueryWithTimeWindowsStartsTwoTicksLate() {
        bolt.execute(Queries.query("q", WINDOWS));
        bolt.execute(FakeTuples.tick());
        assertThat(context.value("bullet_active_queries")).isEqualTo(0L);
        bolt.execute(FakeTuples.tick());
        assertThat(context.value("bullet_active_queries")).isEqualTo(1L);
    }

    @Test
    void whatHasEndedDuringAReplayIsNotBroughtBackByIt() {
        FakeContext replayContext = new FakeContext();
        JoinBolt replaying = new JoinBolt(Queries.replayConfig());
        replaying.prepare(Map.of(), replayContext, collector.asCollector());
        PubSubMessage full = Queries.message("full", LONG_RAW);
        PubSubMessage late = Queries.message("late", LONG_RAW);
        Tuple batch = Queries.batch(collector, full, late);
        replaying.execute(Queries.tuple(full));
        replaying.execute(data("full", 2));

        replaying.execute(batch);

        assertThat(replayContext.value("bullet_created_queries")).as("full and late").isEqualTo(2L);
        assertThat(replayContext.value("bullet_active_queries")).as("late").isEqualTo(1L);
        assertThat(replayContext.value("bullet_duplicated_queries")).isEqualTo(0L);
        replaying.execute(batch);
        assertThat(replayContext.value("bullet_duplicated_queries")).as("late").isEqualTo(1L);
    }

    /** Its time has run on while it was away, so it ends at once, with what there is. */
    @Test
    void aQueryWhoseTimeIsUpEndsWhenItIsReplayed() {
        FakeContext replayContext = new FakeContext();
        JoinBolt replaying = new JoinBolt(Queries.replayConfig());
        replaying.prepare(Map.of(), replayContext, collector.asCollector());
        replaying.execute(Queries.batch(collector,
                Queries.messageOfAge(5_000, "q", "SELECT * FROM STREAM(1000, TIME) LIMIT 2")));
        for (int tick = 0; tick < 4; tick++) {
            replaying.execute(FakeTuples.tick());
        }
        assertThat(records(theResult("q", Metadata.Signal.COMPLETE))).isZero();
        assertThat(replayContext.value("bullet_active_queries")).isEqualTo(0L);
    }

    @Test
    void aTupleOfUnknownOriginIsNotAcked() {
        bolt.execute(FakeTuples.tuple("Stranger", Streams.DEFAULT_STREAM, "q"));
        assertThat(collector.acked).isEmpty();
    }

    @Test
    void metricsHaveTheIntervalOfTheMapping() {
        assertThat(context.intervals).hasSize(5).containsEntry("bullet_active_queries", 10);
    }

    private static Tuple data(String id, int records) {
        RecordGenerator generator = new RecordGenerator(1, 1);
        List<BulletRecord<?>> list = new ArrayList<>();
        for (int i = 0; i < records; i++) {
            list.add(generator.background(i, 0));
        }
        byte[] bytes = SerializerDeserializer.toBytes(new ArrayList<>(list));
        return FakeTuples.tuple(Streams.FILTER_COMPONENT, Streams.DEFAULT_STREAM, id, bytes);
    }

    private JsonObject theResult(String id, Metadata.Signal signal) {
        assertThat(collector.on(Streams.DEFAULT_STREAM)).hasSize(1);
        List<Object> values = collector.on(Streams.DEFAULT_STREAM).get(0);
        assertThat(values.get(0)).isEqualTo(id);
        assertThat(((Metadata) values.get(2)).getSignal()).isEqualTo(signal);
        return new JsonParser().parse((String) values.get(1)).getAsJsonObject();
    }

    private static int records(JsonObject result) {
        return result.getAsJsonArray("records").size();
    }

    private Metadata.Signal theFeedback(String id) {
        assertThat(collector.on(Streams.FEEDBACK_STREAM)).hasSize(1);
        List<Object> values = collector.on(Streams.FEEDBACK_STREAM).get(0);
        assertThat(values.get(0)).isEqualTo(id);
        return ((Metadata) values.get(1)).getSignal();
    }
}
