package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.storage.MemoryStorageManager;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.testing.TestWordSpout;
import org.apache.storm.utils.Utils;
import org.junit.jupiter.api.Test;

import java.util.Map;
import java.util.TreeMap;

class WiringTest {
    @Test
    void joinsTheComponentsAsBulletDoes() {
        StormTopology topology = Wiring.topology(new BulletStormConfig());

        assertThat(topology.get_spouts()).containsOnlyKeys("DataSource", "QuerySpout", "TickSpout");
        assertThat(inputs(topology, "FilterBolt")).isEqualTo(Map.of(
            "DataSource:default", "SHUFFLE", "QuerySpout:default", "ALL", "QuerySpout:metadata", "ALL",
            "TickSpout:default", "ALL"));
        assertThat(inputs(topology, "JoinBolt")).isEqualTo(Map.of(
            "QuerySpout:default", "FIELDS[id]", "QuerySpout:metadata", "FIELDS[id]", "FilterBolt:default", "FIELDS[id]",
            "FilterBolt:error", "FIELDS[id]", "TickSpout:default", "ALL"));
        assertThat(inputs(topology, "ResultBolt")).isEqualTo(Map.of("JoinBolt:default", "SHUFFLE"));
        assertThat(inputs(topology, "LoopBolt"))
                .isEqualTo(Map.of("JoinBolt:feedback", "SHUFFLE", "FilterBolt:feedback", "SHUFFLE"));
        assertThat(topology.get_bolts()).hasSize(4);
    }

    @Test
    void componentsHaveTheirParallelismAndLoads() {
        BulletStormConfig config = new BulletStormConfig();
        config.set("bullet.topology.filter.bolt.parallelism", 7);
        config.set("bullet.topology.filter.bolt.memory.on.heap.load", 300.0);

        var common = Wiring.topology(config.validate()).get_bolts().get("FilterBolt").get_common();

        assertThat(common.get_parallelism_hint()).isEqualTo(7);
        assertThat(common.get_json_conf()).contains("\"topology.component.resources.onheap.memory.mb\":300.0")
            .contains("\"topology.component.cpu.pcore.percent\":100.0");
    }

    @Test
    void withoutWindowsThereIsNoLoop() {
        BulletStormConfig config = new BulletStormConfig();
        config.set(BulletConfig.WINDOW_DISABLE, true);
        assertThat(Wiring.topology(config).get_bolts()).doesNotContainKey("LoopBolt");
    }

    @Test
    void withReplayJoinTasksAreChosenByAHashThatTheReplayBoltKnows() {
        BulletStormConfig config = new BulletStormConfig();
        config.set(BulletStormConfig.REPLAY_ENABLE, true);
        config.set(BulletConfig.STORAGE_CLASS_NAME, MemoryStorageManager.class.getName());
        config.set(BulletConfig.WINDOW_DISABLE, true);
        config.set("bullet.topology.replay.bolt.parallelism", 3);
        config.set("bullet.topology.replay.bolt.cpu.load", 42.0);
        StormTopology topology = Wiring.topology(config.validate());

        assertThat(inputs(topology, "FilterBolt")).isEqualTo(Map.of(
            "DataSource:default", "SHUFFLE", "QuerySpout:default", "ALL", "QuerySpout:metadata", "ALL",
            "TickSpout:default", "ALL",
            "ReplayBolt:replay", "DIRECT"));
        assertThat(inputs(topology, "JoinBolt")).isEqualTo(Map.of(
            "QuerySpout:default", "IDGrouping", "QuerySpout:metadata", "ALL", "FilterBolt:default", "IDGrouping",
            "FilterBolt:error", "IDGrouping", "TickSpout:default", "ALL", "ReplayBolt:capture",
            "TaskIndexCaptureGrouping",
            "ReplayBolt:replay", "DIRECT"));
        assertThat(inputs(topology, "ReplayBolt")).isEqualTo(Map.of(
            "QuerySpout:default", "ALL", "QuerySpout:metadata", "ALL", "QuerySpout:replay", "FIELDS[id]"));
        assertThat(inputs(topology, "LoopBolt"))
                .isEqualTo(Map.of("JoinBolt:feedback", "SHUFFLE", "FilterBolt:feedback", "SHUFFLE"));
        var common = topology.get_bolts().get("ReplayBolt").get_common();
        assertThat(common.get_parallelism_hint()).isEqualTo(3);
        assertThat(common.get_json_conf()).contains("\"topology.component.cpu.pcore.percent\":42.0");
        assertThat(common.get_streams()).containsOnlyKeys("replay", "capture");
    }

    @Test
    void takesASpoutByItsClassName() {
        BulletStormConfig config = new BulletStormConfig();
        config.set(BulletStormConfig.BULLET_SPOUT_CLASS_NAME, TestWordSpout.class.getName());
        assertThat(Wiring.topology(config).get_spouts().get("DataSource").get_common().get_streams().get("default")
            .get_output_fields()).containsExactly("word");
    }

    @Test
    void namesTheSettingThatItCannotMeet() {
        BulletStormConfig noStorage = new BulletStormConfig();
        noStorage.set(BulletStormConfig.REPLAY_ENABLE, true);
        assertThatThrownBy(() -> Wiring.topology(noStorage)).hasMessageContaining(BulletConfig.STORAGE_CLASS_NAME);

        BulletStormConfig noSpout = new BulletStormConfig();
        noSpout.set(BulletStormConfig.BULLET_SPOUT_CLASS_NAME, "java.lang.String");
        assertThatThrownBy(() -> Wiring.topology(noSpout))
                .hasMessageContaining(BulletStormConfig.BULLET_SPOUT_CLASS_NAME);
    }

    private static Map<String, String> inputs(StormTopology topology, String bolt) {
        Map<String, String> inputs = new TreeMap<>();
        Map<GlobalStreamId, Grouping> declared = topology.get_bolts().get(bolt).get_common().get_inputs();
        declared.forEach((stream, grouping) -> inputs.put(stream.get_componentId() + ":" + stream.get_streamId(),
                name(grouping)));
        return inputs;
    }

    private static String name(Grouping grouping) {
        return switch (grouping.getSetField()) {
            case FIELDS -> "FIELDS" + grouping.get_fields();
            case CUSTOM_SERIALIZED ->
                Utils.javaDeserialize(grouping.get_custom_serialized(), CustomStreamGrouping.class).getClass()
                        .getSimpleName();
            default -> grouping.getSetField().toString();
        };
    }
}
