package com.yahoo.bullet.storm;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.common.Config;
import com.yahoo.bullet.common.Validator;

import java.util.Map;
import java.util.Optional;

/**
 * The configuration of a Bullet topology: Bullet's own settings, the {@code bullet.topology.*} settings of Bullet 1.3
 * and whatever else the YAML file holds, which is kept as it is.
 *
 * <p>The name and the package are those of bullet-storm, which is in no public registry: a metrics consumer's
 * {@code public static void register(org.apache.storm.Config, BulletStormConfig)} compiles against this class and runs
 * against either. The names, the defaults (see {@code bullet_storm_defaults.yaml}) and what happens to a bad value are
 * Bullet's: a value that fails its check is logged and replaced by the default, save for a combination of tick interval
 * and window length that cannot work, which throws {@link IllegalStateException}.
 *
 * <p>Not safe for concurrent change. Serializable as long as the values put in are.
 */
public class BulletStormConfig extends BulletConfig {
    private static final long serialVersionUID = 1L;

    /** The topology's name. */
    public static final String TOPOLOGY_NAME = "bullet.topology.name";

    /** Whether {@link #TOPOLOGY_METRICS_CLASSES} are registered and Storm's V2 metrics reach them. */
    public static final String TOPOLOGY_METRICS_ENABLE = "bullet.topology.metrics.enable";
    /** Whether Bullet's own {@code bullet_*} metrics are registered. */
    public static final String TOPOLOGY_METRICS_BUILT_IN_ENABLE = "bullet.topology.metrics.built.in.enable";
    /** A map from a built-in metric's name, or {@link #DEFAULT_INTERVAL_KEY}, to its interval in seconds. */
    public static final String TOPOLOGY_METRICS_BUILT_IN_EMIT_INTERVAL_MAPPING =
            "bullet.topology.metrics.built.in.emit.interval.mapping";
    /** The list of metrics consumer classes that have a {@code register} method. */
    public static final String TOPOLOGY_METRICS_CLASSES = "bullet.topology.metrics.classes";
    /** The key of {@link #TOPOLOGY_METRICS_BUILT_IN_EMIT_INTERVAL_MAPPING} for the metrics that it does not name. */
    public static final String DEFAULT_INTERVAL_KEY = "default";

    /** Whether restarted bolts ask for the queries that they missed. */
    public static final String REPLAY_ENABLE = "bullet.topology.replay.enable";
    /** Time between two such requests, ms. */
    public static final String REPLAY_REQUEST_INTERVAL = "bullet.topology.replay.request.interval";
    /** Queries in a batch of a replay. */
    public static final String REPLAY_BATCH_SIZE = "bullet.topology.replay.batch.size";
    /** Whether such a batch is compressed. */
    public static final String REPLAY_BATCH_COMPRESS_ENABLE = "bullet.topology.replay.batch.compress.enable";

    /** Whether records come from a bullet-dsl connector. */
    public static final String DSL_SPOUT_ENABLE = "bullet.topology.dsl.spout.enable";
    /** Whether that connector wraps a spout. */
    public static final String DSL_SPOUT_CONNECTOR_SPOUT_ENABLE = "bullet.topology.dsl.spout.connector.as.spout.enable";
    /** The class name of the spout that it wraps. */
    public static final String DSL_SPOUT_CONNECTOR_CLASS_NAME = "bullet.topology.dsl.spout.connector.class.name";
    /** Whether a bolt of its own converts what the DSL spout read. */
    public static final String DSL_BOLT_ENABLE = "bullet.topology.dsl.bolt.enable";
    /** Whether bullet-dsl deserializes what was read. */
    public static final String DSL_DESERIALIZER_ENABLE = "bullet.topology.dsl.deserializer.enable";
    /** The class name of a spout that emits records itself. */
    public static final String BULLET_SPOUT_CLASS_NAME = "bullet.topology.bullet.spout.class.name";
    /** The list of strings that this spout's constructor gets. */
    public static final String BULLET_SPOUT_ARGS = "bullet.topology.bullet.spout.args";

    /** Time between two ticks, ms, at least {@link #TICK_INTERVAL_MINIMUM}. */
    public static final String TICK_SPOUT_INTERVAL = "bullet.topology.tick.spout.interval.ms";
    /** Ticks between two reports of the filter bolt's partitioning. */
    public static final String FILTER_BOLT_STATS_REPORT_TICKS = "bullet.topology.filter.bolt.stats.report.ticks";
    /** Ticks that a finished query waits in the join bolt for its last data. */
    public static final String JOIN_BOLT_QUERY_POST_FINISH_BUFFER_TICKS =
            "bullet.topology.join.bolt.query.post.finish.buffer.ticks";
    /** Ticks that a query with time windows waits in the join bolt before it starts. */
    public static final String JOIN_BOLT_WINDOW_PRE_START_DELAY_TICKS =
            "bullet.topology.join.bolt.query.pre.start.delay.ticks";
    /** A map of settings laid over the PubSub's in the loop bolt. */
    public static final String LOOP_BOLT_PUBSUB_OVERRIDES = "bullet.topology.loop.bolt.pubsub.overrides";

    /** The key under which a component puts Storm's configuration for its PubSub; not for users. */
    public static final String STORM_CONFIG = "bullet.topology.storm.config";
    /** The key under which a component puts its TopologyContext for its PubSub; not for users. */
    public static final String STORM_CONTEXT = "bullet.topology.storm.context";
    /** What follows this prefix is a Storm setting, see {@link #getCustomStormSettings()}. */
    public static final String CUSTOM_STORM_SETTING_PREFIX = "bullet.topology.custom.";

    /** The smallest tick interval, ms. */
    public static final int TICK_INTERVAL_MINIMUM = 10;
    /** Ticks that the shortest window must be longer than the start delay. */
    public static final int PRE_START_DELAY_BUFFER_TICKS = 2;

    /** The YAML resource with the defaults. */
    public static final String DEFAULT_STORM_CONFIGURATION = "bullet_storm_defaults.yaml";

    private static final Validator VALIDATOR = StormSettings.validator();

    /** The defaults. */
    public BulletStormConfig() {
        super(DEFAULT_STORM_CONFIGURATION);
        validate();
    }

    /**
     * The defaults with a YAML file over them.
     *
     * @param file a resource of that name, or else a file.
     */
    public BulletStormConfig(String file) {
        this(new Config(file));
    }

    /**
     * The defaults with another configuration over them.
     *
     * @param other what is laid over; it is not changed.
     */
    public BulletStormConfig(Config other) {
        super(DEFAULT_STORM_CONFIGURATION);
        merge(other);
    }

    @Override
    public BulletStormConfig validate() {
        VALIDATOR.validate(this);
        return this;
    }

    /**
     * The checks of Bullet's settings and of this class'.
     *
     * @return a copy.
     */
    public static Validator getValidator() {
        return VALIDATOR.copy();
    }

    /**
     * The Storm settings that the user gave as {@code bullet.topology.custom.<name>}.
     *
     * @return a new map from the name without the prefix to the value.
     */
    public Map<String, Object> getCustomStormSettings() {
        return getAllWithPrefix(Optional.empty(), CUSTOM_STORM_SETTING_PREFIX, true);
    }
}
