package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.dsl.DSLSettings;
import io.github.bulletmetrics.topology.dsl.ListSpout;
import io.github.bulletmetrics.topology.dsl.ListSpoutConnector;

import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;

import java.util.List;

class RecordSourceTest {
    @Test
    void theDslSpoutAloneIsTheSource() {
        StormTopology topology = Wiring.topology(DSLSettings.ofLists());

        assertThat(topology.get_spouts()).containsOnlyKeys("DataSource", "QuerySpout", "TickSpout");
        ComponentCommon spout = topology.get_spouts().get("DataSource").get_common();
        assertThat(spout.get_parallelism_hint()).isEqualTo(10);
        assertThat(fields(spout)).containsExactly("record", "timestamp");
    }

    @Test
    void behindTheDslSpoutTheDslBoltIsTheSource() {
        BulletStormConfig config = DSLSettings.ofLists();
        config.set(BulletStormConfig.DSL_BOLT_ENABLE, true);
        config.set("bullet.topology.dsl.spout.parallelism", 3);
        config.set("bullet.topology.dsl.spout.cpu.load", 40.0);
        config.set("bullet.topology.dsl.bolt.parallelism", 5);
        config.set("bullet.topology.dsl.bolt.memory.on.heap.load", 300.0);
        config.set("bullet.topology.dsl.bolt.memory.off.heap.load", 17.0);

        StormTopology topology = Wiring.topology(config.validate());

        ComponentCommon spout = topology.get_spouts().get("DataSpout").get_common();
        assertThat(spout.get_parallelism_hint()).isEqualTo(3);
        assertThat(spout.get_json_conf()).contains("\"topology.component.cpu.pcore.percent\":40.0");
        ComponentCommon bolt = topology.get_bolts().get("DataSource").get_common();
        assertThat(bolt.get_parallelism_hint()).isEqualTo(5);
        assertThat(bolt.get_json_conf()).contains("\"topology.component.resources.onheap.memory.mb\":300.0")
            .contains("\"topology.component.resources.offheap.memory.mb\":17.0");
        assertThat(bolt.get_inputs().get(new GlobalStreamId("DataSpout", "default")).is_set_shuffle()).isTrue();
        assertThat(fields(bolt)).containsExactly("record", "timestamp");
        assertThat(topology.get_spouts()).doesNotContainKey("DataSource");
    }

    @Test
    void aConnectorMayBeASpoutAndBringsItsOwnComponentSettings() {
        BulletStormConfig config = DSLSettings.ofLists();
        config.set(BulletStormConfig.DSL_SPOUT_CONNECTOR_SPOUT_ENABLE, true);
        config.set("bullet.dsl.connector.class.name", ListSpoutConnector.class.getName());
        config.set(BulletStormConfig.DSL_SPOUT_CONNECTOR_CLASS_NAME, ListSpout.class.getName());

        StormTopology topology = Wiring.topology(config.validate());

        assertThat(topology.get_spouts().get("DataSource").get_common().get_json_conf())
                .contains("\"of.the.wrapped.spout\":7");
    }

    /** What a worker gets is what was serialized here. */
    @Test
    void itsPartsTravelToAWorker() {
        BulletStormConfig config = DSLSettings.ofLists();
        config.set(BulletStormConfig.DSL_BOLT_ENABLE, true);

        StormTopology topology = Wiring.topology(config);

        byte[] spout = topology.get_spouts().get("DataSpout").get_spout_object().get_serialized_java();
        byte[] bolt = topology.get_bolts().get("DataSource").get_bolt_object().get_serialized_java();
        assertThat(Utils.<Object>javaDeserialize(spout, Object.class).getClass().getSimpleName()).isEqualTo("DSLSpout");
        assertThat(Utils.<Object>javaDeserialize(bolt, Object.class).getClass().getSimpleName()).isEqualTo("DSLBolt");
    }

    private static List<String> fields(ComponentCommon component) {
        return component.get_streams().get("default").get_output_fields();
    }
}
