package io.github.bulletmetrics.topology;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.storage.MemoryStorageManager;
import com.yahoo.bullet.storm.BulletStormConfig;
import com.yahoo.bullet.storm.ComponentSettings;
import io.github.bulletmetrics.topology.grouping.IDGrouping;
import io.github.bulletmetrics.topology.grouping.TaskIndexCaptureGrouping;

import org.apache.storm.Config;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.ComponentConfigurationDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.tuple.Fields;

/** Joins Bullet's components to a Storm topology, and Bullet's settings to Storm's. Decides nothing else. */
public final class Wiring {
    private static final Fields BY_ID = new Fields(Streams.ID);

    private final BulletStormConfig config;
    private final boolean replay;
    private final TopologyBuilder builder = new TopologyBuilder();

    private Wiring(BulletStormConfig config) {
        this.config = config;
        replay = config.getAs(BulletStormConfig.REPLAY_ENABLE, Boolean.class);
    }

    /**
     * Builds the topology.
     *
     * @param config the topology's settings.
     * @return what Storm is to run.
     * @throws IllegalArgumentException names the setting that cannot be met.
     */
    public static StormTopology topology(BulletStormConfig config) {
        Wiring wiring = new Wiring(config);
        wiring.spouts();
        wiring.bolts();
        return wiring.builder.createTopology();
    }

    /**
     * Makes Storm's configuration: Java serialization allowed, since Bullet's tuples need it between workers; then what
     * the metrics consumers register; then the user's own Storm settings, which have the last word.
     *
     * @param config the topology's settings.
     * @return a new configuration.
     */
    public static Config stormConfig(BulletStormConfig config) {
        Config storm = new Config();
        storm.put(Config.TOPOLOGY_FALL_BACK_ON_JAVA_SERIALIZATION, true);
        if (config.getAs(BulletStormConfig.TOPOLOGY_METRICS_ENABLE, Boolean.class)) {
            storm.put(Config.TOPOLOGY_ENABLE_V2_METRICS_TICK, true);
            MetricsRegistration.register(config, storm);
        }
        storm.putAll(config.getCustomStormSettings());
        return storm;
    }

    private void spouts() {
        RecordSource.addTo(builder, config);
        ComponentSettings query = ComponentSettings.QUERY_SPOUT;
        reserve(query, builder.setSpout(Streams.QUERY_COMPONENT, new QuerySpout(config), executors(query)));
        reserve(ComponentSettings.TICK_SPOUT, builder.setSpout(Streams.TICK_COMPONENT, new TickSpout(config), 1));
    }

    private void bolts() {
        filter();
        join();
        ComponentSettings result = ComponentSettings.RESULT_BOLT;
        reserve(result, builder.setBolt(Streams.RESULT_COMPONENT, new ResultBolt(config), executors(result))
            .shuffleGrouping(Streams.JOIN_COMPONENT, Streams.DEFAULT_STREAM));
        if (replay) {
            replay();
        }
        if (replay || !config.getAs(BulletConfig.WINDOW_DISABLE, Boolean.class)) {
            loop();
        }
    }

    private void filter() {
        ComponentSettings filter = ComponentSettings.FILTER_BOLT;
        FilterBolt bolt = new FilterBolt(Streams.RECORD_COMPONENT, config);
        BoltDeclarer declarer = builder.setBolt(Streams.FILTER_COMPONENT, bolt, executors(filter))
            .shuffleGrouping(Streams.RECORD_COMPONENT)
            .allGrouping(Streams.QUERY_COMPONENT, Streams.DEFAULT_STREAM)
            .allGrouping(Streams.QUERY_COMPONENT, Streams.METADATA_STREAM)
            .allGrouping(Streams.TICK_COMPONENT, Streams.DEFAULT_STREAM);
        if (replay) {
            declarer.directGrouping(Streams.REPLAY_COMPONENT, Streams.REPLAY_STREAM);
        }
        reserve(filter, declarer);
    }

    private void join() {
        ComponentSettings join = ComponentSettings.JOIN_BOLT;
        BoltDeclarer declarer = builder.setBolt(Streams.JOIN_COMPONENT, new JoinBolt(config), executors(join))
            .allGrouping(Streams.TICK_COMPONENT, Streams.DEFAULT_STREAM);
        byId(declarer, Streams.QUERY_COMPONENT, Streams.DEFAULT_STREAM);
        byId(declarer, Streams.FILTER_COMPONENT, Streams.DEFAULT_STREAM);
        byId(declarer, Streams.FILTER_COMPONENT, Streams.ERROR_STREAM);
        if (replay) {
            declarer.allGrouping(Streams.QUERY_COMPONENT, Streams.METADATA_STREAM)
                .customGrouping(Streams.REPLAY_COMPONENT, Streams.CAPTURE_STREAM, new TaskIndexCaptureGrouping())
                .directGrouping(Streams.REPLAY_COMPONENT, Streams.REPLAY_STREAM);
        } else {
            byId(declarer, Streams.QUERY_COMPONENT, Streams.METADATA_STREAM);
        }
        reserve(join, declarer);
    }

    /** The replay bolt must know which join task a query belongs to; of Storm's own grouping it does not. */
    private void byId(BoltDeclarer join, String component, String stream) {
        if (replay) {
            join.customGrouping(component, stream, new IDGrouping());
        } else {
            join.fieldsGrouping(component, stream, BY_ID);
        }
    }

    private void replay() {
        if (config.get(BulletConfig.STORAGE_CLASS_NAME) == null) {
            throw new IllegalArgumentException(BulletStormConfig.REPLAY_ENABLE + " needs "
                    + BulletConfig.STORAGE_CLASS_NAME
                + ", from which replay bolts read the queries when they start. Use the storage of Bullet's web service, or "
                + MemoryStorageManager.class.getName() + " for none");
        }
        ComponentSettings settings = ComponentSettings.REPLAY_BOLT;
        reserve(settings, builder.setBolt(Streams.REPLAY_COMPONENT, new ReplayBolt(config), executors(settings))
            .allGrouping(Streams.QUERY_COMPONENT, Streams.DEFAULT_STREAM)
            .allGrouping(Streams.QUERY_COMPONENT, Streams.METADATA_STREAM)
            .fieldsGrouping(Streams.QUERY_COMPONENT, Streams.REPLAY_STREAM, BY_ID));
    }

    /**
     * Without windows and replay nothing but a kill ends a query early in the filter bolts, so Bullet leaves this bolt
     * out.
     */
    private void loop() {
        ComponentSettings loop = ComponentSettings.LOOP_BOLT;
        reserve(loop, builder.setBolt(Streams.LOOP_COMPONENT, new LoopBolt(config), executors(loop))
            .shuffleGrouping(Streams.FILTER_COMPONENT, Streams.FEEDBACK_STREAM)
            .shuffleGrouping(Streams.JOIN_COMPONENT, Streams.FEEDBACK_STREAM));
    }

    private int executors(ComponentSettings component) {
        return config.getAs(component.parallelism(), Integer.class);
    }

    private void reserve(ComponentSettings component, ComponentConfigurationDeclarer<?> declarer) {
        reserve(config, component, declarer);
    }

    /** States to the resource-aware scheduler what one executor needs. */
    static void reserve(BulletStormConfig config, ComponentSettings component, ComponentConfigurationDeclarer<
            ?> declarer) {
        declarer.setCPULoad(config.getAs(component.cpuLoad(), Double.class));
        declarer.setMemoryLoad(config.getAs(component.onHeapLoad(), Double.class),
                               config.getAs(component.offHeapLoad(), Double.class));
    }
}
