package io.github.bulletmetrics.topology;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.storm.BulletStormConfig;
import com.yahoo.bullet.storm.ComponentSettings;

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
    private final TopologyBuilder builder = new TopologyBuilder();

    private Wiring(BulletStormConfig config) {
        this.config = config;
    }

    /**
     * Builds the topology.
     *
     * @param config the topology's settings.
     * @return what Storm is to run.
     * @throws IllegalArgumentException names the setting that cannot be met.
     */
    public static StormTopology topology(BulletStormConfig config) {
        if (config.getAs(BulletStormConfig.REPLAY_ENABLE, Boolean.class)) {
            throw new IllegalArgumentException(
                BulletStormConfig.REPLAY_ENABLE + " must be false: this version cannot replay queries yet");
        }
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
        ComponentSettings source = ComponentSettings.BULLET_SPOUT;
        reserve(source, builder.setSpout(Streams.RECORD_COMPONENT, RecordSource.spout(config), executors(source)));
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
        if (!config.getAs(BulletConfig.WINDOW_DISABLE, Boolean.class)) {
            loop();
        }
    }

    private void filter() {
        ComponentSettings filter = ComponentSettings.FILTER_BOLT;
        FilterBolt bolt = new FilterBolt(Streams.RECORD_COMPONENT, config);
        reserve(filter, builder.setBolt(Streams.FILTER_COMPONENT, bolt, executors(filter))
            .shuffleGrouping(Streams.RECORD_COMPONENT)
            .allGrouping(Streams.QUERY_COMPONENT, Streams.DEFAULT_STREAM)
            .allGrouping(Streams.QUERY_COMPONENT, Streams.METADATA_STREAM)
            .allGrouping(Streams.TICK_COMPONENT, Streams.DEFAULT_STREAM));
    }

    private void join() {
        ComponentSettings join = ComponentSettings.JOIN_BOLT;
        BoltDeclarer bolt = builder.setBolt(Streams.JOIN_COMPONENT, new JoinBolt(config), executors(join))
            .fieldsGrouping(Streams.QUERY_COMPONENT, Streams.DEFAULT_STREAM, BY_ID)
            .fieldsGrouping(Streams.QUERY_COMPONENT, Streams.METADATA_STREAM, BY_ID)
            .fieldsGrouping(Streams.FILTER_COMPONENT, Streams.DEFAULT_STREAM, BY_ID)
            .fieldsGrouping(Streams.FILTER_COMPONENT, Streams.ERROR_STREAM, BY_ID)
            .allGrouping(Streams.TICK_COMPONENT, Streams.DEFAULT_STREAM);
        reserve(join, bolt);
    }

    /** Without windows nothing but a kill ends a query early in the filter bolts, so Bullet leaves this bolt out. */
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
        declarer.setCPULoad(config.getAs(component.cpuLoad(), Double.class));
        declarer.setMemoryLoad(config.getAs(component.onHeapLoad(), Double.class),
                               config.getAs(component.offHeapLoad(), Double.class));
    }
}
