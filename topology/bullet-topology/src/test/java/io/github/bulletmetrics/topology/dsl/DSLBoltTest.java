package io.github.bulletmetrics.topology.dsl;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.common.SerializerDeserializer;
import com.yahoo.bullet.dsl.BulletDSLConfig;
import com.yahoo.bullet.dsl.connector.KafkaConnector;
import com.yahoo.bullet.dsl.deserializer.JavaDeserializer;
import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.FakeCollector;
import io.github.bulletmetrics.topology.FakeContext;
import io.github.bulletmetrics.topology.FakeTuples;
import io.github.bulletmetrics.topology.source.SourceSettings;

import org.apache.storm.tuple.Tuple;
import org.junit.jupiter.api.Test;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

class DSLBoltTest {
    private final FakeCollector collector = new FakeCollector();
    private final FakeContext context = new FakeContext();

    private void execute(Map<String, Object> settings, Tuple batch) {
        DSLBolt bolt = new DSLBolt(DSLSettings.with(settings));
        bolt.prepare(Map.of(), context, collector.asCollector());
        bolt.execute(batch);
    }

    private static Tuple batch(Object... values) {
        return FakeTuples.tuple("DataSpout", "default", values);
    }

    private List<Object> ids(String field) {
        return collector.on("default").stream()
            .map(values -> (Object) ((BulletRecord<?>) values.get(0)).typedGet(field).getValue()).toList();
    }

    @Test
    void makesATupleOfEachMessageAndAcksTheBatch() {
        Tuple batch = batch(List.of(DSLSettings.message(1), DSLSettings.message(2)), 1L);
        long before = System.currentTimeMillis();

        execute(Map.of(), batch);

        assertThat(ids("id")).containsExactly(1, 2);
        assertThat(collector.on("default")).allSatisfy(
            values -> assertThat((Long) values.get(1)).as("when emitted here")
            .isBetween(before, System.currentTimeMillis()));
        assertThat(collector.acked).containsExactly(batch);
    }

    @Test
    void leavesOutAndCountsWhatItCannotConvert() {
        Tuple batch = batch(List.of("no map", DSLSettings.message(2)), 1L);

        execute(Map.of(), batch);

        assertThat(ids("id")).containsExactly(2);
        assertThat(collector.acked).containsExactly(batch);
        assertThat(context.value("bullet_source_left_out")).isEqualTo(Map.of("conversion", 1L));
    }

    @Test
    void asksADeserializerFirstWhereThereIsOne() {
        byte[] bytes = SerializerDeserializer.toBytes(new HashMap<>(DSLSettings.message(5)));

        execute(Map.of(BulletStormConfig.DSL_DESERIALIZER_ENABLE, true,
                       BulletDSLConfig.DESERIALIZER_CLASS_NAME, JavaDeserializer.class.getName()),
                       batch(List.of(bytes), 1L));

        assertThat(ids("id")).containsExactly(5);
    }

    @Test
    void keepsTheBrokersTimestampInItsField() {
        execute(Map.of(BulletDSLConfig.CONNECTOR_CLASS_NAME, KafkaConnector.class.getName(),
                       BulletDSLConfig.CONNECTOR_KAFKA_TOPICS, List.of("records"),
                       SourceSettings.TIMESTAMP_FIELD, "kafka_received_ms"),
                batch(List.of(DSLSettings.message(1), DSLSettings.message(2)), 1L, List.of(1_000L, 2_000L)));

        assertThat(ids("kafka_received_ms")).containsExactly(1_000L, 2_000L);
    }
}
