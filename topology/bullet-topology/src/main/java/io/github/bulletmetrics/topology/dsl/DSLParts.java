package io.github.bulletmetrics.topology.dsl;

import com.yahoo.bullet.dsl.BulletDSLConfig;
import com.yahoo.bullet.dsl.connector.BulletConnector;
import com.yahoo.bullet.dsl.connector.KafkaConnector;
import com.yahoo.bullet.dsl.connector.PulsarConnector;
import com.yahoo.bullet.dsl.converter.AvroBulletRecordConverter;
import com.yahoo.bullet.dsl.converter.BulletRecordConverter;
import com.yahoo.bullet.dsl.converter.JSONBulletRecordConverter;
import com.yahoo.bullet.dsl.converter.MapBulletRecordConverter;
import com.yahoo.bullet.dsl.converter.POJOBulletRecordConverter;
import com.yahoo.bullet.dsl.deserializer.AvroDeserializer;
import com.yahoo.bullet.dsl.deserializer.BulletDeserializer;
import com.yahoo.bullet.dsl.deserializer.IdentityDeserializer;
import com.yahoo.bullet.dsl.deserializer.JavaDeserializer;
import com.yahoo.bullet.storm.BulletStormConfig;
import com.yahoo.bullet.storm.SpoutConnector;
import io.github.bulletmetrics.topology.dsl.kafka.KafkaTap;
import io.github.bulletmetrics.topology.source.SourceSettings;

import org.apache.kafka.clients.consumer.ConsumerConfig;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Makes the parts of bullet-dsl that the settings name. What is wrong is found when the topology is submitted, not in a
 * worker, and said with the setting's name and what was probably meant.
 */
public final class DSLParts {
    private final BulletStormConfig storm;
    private final BulletDSLConfig config;

    /**
     * Checks the settings that bullet-dsl checks.
     *
     * @param storm the topology's settings.
     * @throws IllegalArgumentException with what bullet-dsl or this class has against them.
     */
    public DSLParts(BulletStormConfig storm) {
        this.storm = storm;
        NamedClass connector = new NamedClass(storm, BulletDSLConfig.CONNECTOR_CLASS_NAME,
            asSpout() ? SpoutConnector.class : BulletConnector.class,
            asSpout() ? List.of() : List.of(KafkaConnector.class, PulsarConnector.class));
        NamedClass converter = new NamedClass(storm, BulletDSLConfig.RECORD_CONVERTER_CLASS_NAME,
                BulletRecordConverter.class,
            List.of(JSONBulletRecordConverter.class, AvroBulletRecordConverter.class, MapBulletRecordConverter.class,
                    POJOBulletRecordConverter.class));
        connector.check();
        converter.check();
        if (hasDeserializer()) {
            new NamedClass(storm, BulletDSLConfig.DESERIALIZER_CLASS_NAME, BulletDeserializer.class,
                           List.of(AvroDeserializer.class, JavaDeserializer.class)).check();
        }
        config = checked(storm);
        if (KafkaConnector.class.isAssignableFrom(connector.type())) {
            checkTopics();
            tapKafka();
        } else if (SourceSettings.from(storm).timestampField() != null) {
            throw new IllegalArgumentException(SourceSettings.TIMESTAMP_FIELD + " needs "
                    + KafkaConnector.class.getName() + " as "
                + BulletDSLConfig.CONNECTOR_CLASS_NAME + ", because other connectors have no timestamp; remove it");
        }
    }

    private static BulletDSLConfig checked(BulletStormConfig storm) {
        try {
            return new BulletDSLConfig(storm);
        } catch (RuntimeException e) {
            throw new IllegalArgumentException("bullet-dsl rejects its settings (bullet.dsl.*): " + e.getMessage()
                + ". bullet_dsl_defaults.yaml in bullet-dsl's jar describes each setting", e);
        }
    }

    private void checkTopics() {
        List<?> topics = config.getAs(BulletDSLConfig.CONNECTOR_KAFKA_TOPICS, List.class);
        if (topics.stream().anyMatch(topic -> !(topic instanceof String name) || name.isBlank())) {
            throw new IllegalArgumentException(BulletDSLConfig.CONNECTOR_KAFKA_TOPICS
                    + " must be a list of topics, such as [\"records\"], but is "
                + topics + NamedClass.didYouMean(storm, BulletDSLConfig.CONNECTOR_KAFKA_TOPICS));
        }
    }

    /** Beside the interceptors that the user has, and after them: it sees what they let through. */
    private void tapKafka() {
        String setting = BulletDSLConfig.CONNECTOR_KAFKA_NAMESPACE + ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG;
        List<Object> interceptors = new ArrayList<>();
        Object given = config.get(setting);
        if (given instanceof List<?> list) {
            interceptors.addAll(list);
        } else if (given != null && !given.toString().isBlank()) {
            interceptors.addAll(List.of(given.toString().trim().split("\\s*,\\s*")));
        }
        interceptors.add(KafkaTap.class.getName());
        config.set(setting, interceptors);
    }

    /** Whether a connector is wrapped around a Storm spout. */
    private boolean asSpout() {
        return is(BulletStormConfig.DSL_SPOUT_CONNECTOR_SPOUT_ENABLE);
    }

    private boolean hasDeserializer() {
        return is(BulletStormConfig.DSL_DESERIALIZER_ENABLE);
    }

    /** Whether a bolt converts what the spout reads. */
    boolean hasBolt() {
        return is(BulletStormConfig.DSL_BOLT_ENABLE);
    }

    private boolean is(String flag) {
        return storm.getAs(flag, Boolean.class);
    }

    static boolean readsKafka(BulletConnector connector) {
        return connector instanceof KafkaConnector;
    }

    BulletConnector connector() {
        return made(BulletDSLConfig.CONNECTOR_CLASS_NAME, () -> BulletConnector.from(config));
    }

    RecordMaker recordMaker() {
        BulletDeserializer deserializer = hasDeserializer()
            ? made(BulletDSLConfig.DESERIALIZER_CLASS_NAME, () -> BulletDeserializer.from(config))
            : new IdentityDeserializer(config);
        BulletRecordConverter converter = made(BulletDSLConfig.RECORD_CONVERTER_CLASS_NAME,
                () -> BulletRecordConverter.from(config));
        return new RecordMaker(deserializer, converter, SourceSettings.from(storm).timestampField());
    }

    /** A part, or why there is none. */
    private interface Maker<T> {
        T make();
    }

    private <T> T made(String setting, Maker<T> maker) {
        try {
            return Objects.requireNonNull(maker.make());
        } catch (RuntimeException e) {
            throw new IllegalArgumentException(setting + " is " + storm.get(setting) + ", which cannot be created: "
                    + rootOf(e) + hint(setting), e);
        }
    }

    private String hint(String setting) {
        Object schema = storm.get(BulletDSLConfig.RECORD_CONVERTER_SCHEMA_FILE);
        return schema == null || !setting.equals(BulletDSLConfig.RECORD_CONVERTER_CLASS_NAME) ? "" : ". Its "
            + BulletDSLConfig.RECORD_CONVERTER_SCHEMA_FILE + " must be a resource of a jar or a file of the submitter";
    }

    private static Throwable rootOf(Throwable failure) {
        Throwable root = failure;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        return root;
    }
}
