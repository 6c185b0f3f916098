package io.github.bulletmetrics.topology.dsl;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.yahoo.bullet.dsl.connector.KafkaConnector;
import com.yahoo.bullet.dsl.connector.PulsarConnector;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A topology with wrong settings of its source is refused when it is submitted, with what to do about it. */
class DSLPartsTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "bullet.dsl.connector.class.name|com.yahoo.bullet.dsl.connector.KafkaConector"
            + "|did you mean com.yahoo.bullet.dsl.connector.KafkaConnector?",
        "bullet.dsl.connector.class.name|java.lang.String|is not a com.yahoo.bullet.dsl.connector.BulletConnector",
        "bullet.dsl.connector.class.name||bullet.dsl.connector.class.name is missing",
        "bullet.dsl.converter.class.name|com.yahoo.bullet.dsl.converter.JsonBulletRecordConverter"
            + "|did you mean com.yahoo.bullet.dsl.converter.JSONBulletRecordConverter?",
        "bullet.dsl.converter.class.name||for instance com.yahoo.bullet.dsl.converter.JSONBulletRecordConverter",
        "bullet.dsl.converter.schema.file|no_such_schema.json|no_such_schema.json",
        "bullet.dsl.deserializer.class.name|no.such.Deserializer|Your own classes must be on the class path",
        "bullet.topology.source.sampling.percentage|0|must be a number above 0 and up to 100, but is 0",
        "bullet.topology.source.sampling.percentage|many|must be a number above 0 and up to 100, but is many",
        "bullet.topology.source.timestamp.field|received|needs com.yahoo.bullet.dsl.connector.KafkaConnector",
        "bullet.topology.source.sampling.percent|50|known settings: [bullet.topology.source.filtered.field, "
            + "bullet.topology.source.metrics.enable, bullet.topology.source.received.field, "
            + "bullet.topology.source.sampling.percentage, bullet.topology.source.timestamp.field]",
        "bullet.topology.source.metrics.enable|perhaps|must be true or false, but is perhaps",
    })
    void saysWhatIsWrongAndWhatToDo(String setting, String value, String expected) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(BulletStormConfig.DSL_DESERIALIZER_ENABLE, setting.contains("deserializer"));
        settings.put(setting, value);
        assertThatThrownBy(() -> new DSLSpout(DSLSettings.with(settings)))
            .isInstanceOf(IllegalArgumentException.class).hasMessageContaining(setting).hasMessageContaining(expected);
    }

    @Test
    void namesTheMisspelledSettingThatWasMeant() {
        BulletStormConfig config = DSLSettings.ofLists();
        config.set("bullet.dsl.conector.class.name", config.get("bullet.dsl.connector.class.name"));
        config.set("bullet.dsl.connector.class.name", null);
        assertThatThrownBy(() -> new DSLSpout(config)).hasMessageContaining(
            "bullet.dsl.connector.class.name is missing (you have bullet.dsl.conector.class.name; did you mean it?)");
    }

    @Test
    void aKafkaConnectorNeedsTopics() {
        for (Object topics : List.of(List.of(), List.of(""), List.of(7))) {
            assertThatThrownBy(() -> new DSLSpout(DSLSettings.with(Map.of(
                "bullet.dsl.connector.class.name", KafkaConnector.class.getName(), "bullet.dsl.connector.kafka.topics",
                topics))))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("topic");
        }
    }

    @Test
    void aConnectorAroundASpoutMustBeASpoutConnector() {
        assertThatThrownBy(() -> new DSLConnectorSpout(DSLSettings.with(
            Map.of(BulletStormConfig.DSL_SPOUT_CONNECTOR_SPOUT_ENABLE, true))))
            .isInstanceOf(IllegalArgumentException.class)
            .hasMessageContaining("is not a com.yahoo.bullet.storm.SpoutConnector");
    }

    /** Pulsar's client is not part of the jar: the message states where to put it. */
    @Test
    void namesTheClassThatAConnectorLacks() {
        assertThatThrownBy(() -> new DSLSpout(DSLSettings.with(Map.of(
            "bullet.dsl.connector.class.name", PulsarConnector.class.getName(), "bullet.dsl.connector.pulsar.topics",
            List.of("t")))))
            .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("extlib");
    }
}
