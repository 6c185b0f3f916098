package io.github.bulletmetrics.storm.collector;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.ComponentObject;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.NullStruct;
import org.apache.storm.generated.SpoutSpec;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.task.TopologyContext;

/**
 * A topology "bullet" as a consumer sees it on Storm 1.0.3: DataSource (tasks 1, 2), FilterBolt (tasks 3 to 6). The
 * consumer is task 9. Of Storm's own components, __acker (tasks 7, 8) and __system, Storm reports the tasks alone.
 */
public final class TestTopology {
    private TestTopology() {
    }

    public static Map<String, Object> conf() {
        Map<String, Object> conf = new HashMap<>();
        conf.put("topology.name", "bullet");
        conf.put("storm.local.hostname", "consumer-host");
        return conf;
    }

    public static TopologyContext context() {
        ComponentCommon filter = new ComponentCommon(new HashMap<>(Map.of(
                new GlobalStreamId("DataSource", "default"), Grouping.shuffle(new NullStruct()),
                new GlobalStreamId("QuerySpout", "default"), Grouping.all(new NullStruct()),
                new GlobalStreamId("QuerySpout", "metadata"), Grouping.fields(List.of("id")),
                new GlobalStreamId("QuerySpout", "totals"), Grouping.fields(List.of()),
                new GlobalStreamId("__acker", "__ack_ack"), Grouping.direct(new NullStruct()))), new HashMap<>());
        filter.set_parallelism_hint(2);
        filter.set_json_conf("{\"topology.component.cpu.pcore.percent\":150.5,\"topology.component.resources.onheap.memory.mb\": 512.0,"
                + "\"topology.component.resources.offheap.memory.mb\":64}");
        ComponentCommon source = new ComponentCommon(new HashMap<>(), new HashMap<>());
        source.set_parallelism_hint(2);
        StormTopology topology = new StormTopology(
                new HashMap<>(Map.of("DataSource", new SpoutSpec(ComponentObject.serialized_java(new byte[0]),
                source))),
                new HashMap<>(Map.of("FilterBolt", new Bolt(ComponentObject.serialized_java(new byte[0]), filter))),
                new HashMap<>());
        Map<Integer, String> components = Map.of(1, "DataSource", 2, "DataSource", 3, "FilterBolt", 4, "FilterBolt", 5,
                "FilterBolt", 6, "FilterBolt",
                7, "__acker", 8, "__acker", -1, "__system");
        Map<String, List<Integer>> tasks = Map.of("DataSource", List.of(1, 2), "FilterBolt", List.of(3, 4, 5, 6),
                "__acker", List.of(7, 8), "__system", List.of(-1));
        return new TopologyContext(topology, conf(), components, tasks, new HashMap<>(), "bullet-1-1700000000", "", "",
                9, 6700, List.of(9),
                new HashMap<>(), new HashMap<>(), new HashMap<>(), new HashMap<>(), null);
    }
}
