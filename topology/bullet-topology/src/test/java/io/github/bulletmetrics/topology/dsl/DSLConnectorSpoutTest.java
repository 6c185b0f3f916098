package io.github.bulletmetrics.topology.dsl;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.dsl.BulletDSLConfig;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.FakeContext;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

class DSLConnectorSpoutTest {
    private static final Map<String, Object> WRAPPED = Map.of(
        BulletStormConfig.DSL_SPOUT_CONNECTOR_SPOUT_ENABLE, true,
        BulletDSLConfig.CONNECTOR_CLASS_NAME, ListSpoutConnector.class.getName(),
        BulletStormConfig.DSL_SPOUT_CONNECTOR_CLASS_NAME, ListSpout.class.getName());

    private final FakeSpoutCollector collector = new FakeSpoutCollector();

    @Test
    void handsStormsCallsToTheWrappedSpoutButReadsByItsConnector() {
        DSLConnectorSpout spout = new DSLConnectorSpout(DSLSettings.with(WRAPPED));
        ListSpout wrapped = ((ListSpoutConnector) spout.connector()).wrapped();

        spout.open(Map.of(), new FakeContext(), collector.asCollector());
        spout.setCredentials(Map.of("a", "b"));
        spout.activate();
        spout.nextTuple();
        spout.ack(42L);
        spout.fail(42L);
        spout.deactivate();
        spout.close();

        assertThat(wrapped.calls).containsExactly("made with BulletDSLConfig", "open", "credentials {a=b}", "activate",
                "ack 42",
            "fail 42", "deactivate", "deactivate");
        assertThat(collector.emitted).hasSize(2);
        assertThat(spout.getComponentConfiguration()).isEqualTo(Map.of("of.the.wrapped.spout", 7));
    }

    /** Outside of the DSL spout initialize() opens and activates, and close() deactivates. */
    @Test
    void aSpoutConnectorIsAPlainConnectorToo() throws Exception {
        ListSpoutConnector connector = new ListSpoutConnector(DSLSettings.with(WRAPPED));
        connector.setStormConfiguration(Map.of());
        connector.setContext(new FakeContext());
        connector.setOutputCollector(collector.asCollector());

        connector.initialize();
        assertThat(connector.read()).hasSize(2);
        connector.nextTuple();
        connector.close();

        assertThat(connector.wrapped().calls).isEqualTo(
            List.of("made with BulletDSLConfig", "open", "activate", "nextTuple", "deactivate"));
    }
}
