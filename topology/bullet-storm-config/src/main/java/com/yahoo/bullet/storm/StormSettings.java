package com.yahoo.bullet.storm;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.common.Config;
import com.yahoo.bullet.common.Validator;

import java.util.List;
import java.util.Map;

/** The checks of the {@code bullet.topology.*} settings, each with its default from the defaults file. */
final class StormSettings {
    private final Validator validator = BulletConfig.getValidator();
    private final Config defaults = new Config(BulletStormConfig.DEFAULT_STORM_CONFIGURATION);

    private StormSettings() {
    }

    static Validator validator() {
        StormSettings settings = new StormSettings();
        settings.defineMetrics();
        settings.defineReplay();
        settings.defineSource();
        settings.defineTicks();
        for (ComponentSettings component : ComponentSettings.values()) {
            settings.defineResources(component);
        }
        settings.defineRelations();
        return settings.validator;
    }

    private void defineMetrics() {
        define(BulletStormConfig.TOPOLOGY_NAME).checkIf(Validator::isString);
        flag(BulletStormConfig.TOPOLOGY_METRICS_ENABLE);
        flag(BulletStormConfig.TOPOLOGY_METRICS_BUILT_IN_ENABLE);
        define(BulletStormConfig.TOPOLOGY_METRICS_BUILT_IN_EMIT_INTERVAL_MAPPING)
                .checkIf(StormSettings::isIntervalMapping);
        define(BulletStormConfig.TOPOLOGY_METRICS_CLASSES).checkIf(StormSettings::isListOfStrings);
    }

    private void defineReplay() {
        flag(BulletStormConfig.REPLAY_ENABLE);
        count(BulletStormConfig.REPLAY_REQUEST_INTERVAL).castTo(Validator::asLong);
        count(BulletStormConfig.REPLAY_BATCH_SIZE);
        flag(BulletStormConfig.REPLAY_BATCH_COMPRESS_ENABLE);
    }

    private void defineSource() {
        flag(BulletStormConfig.DSL_SPOUT_ENABLE);
        flag(BulletStormConfig.DSL_SPOUT_CONNECTOR_SPOUT_ENABLE);
        className(BulletStormConfig.DSL_SPOUT_CONNECTOR_CLASS_NAME);
        flag(BulletStormConfig.DSL_BOLT_ENABLE);
        flag(BulletStormConfig.DSL_DESERIALIZER_ENABLE);
        className(BulletStormConfig.BULLET_SPOUT_CLASS_NAME);
        define(BulletStormConfig.BULLET_SPOUT_ARGS).checkIf(Validator::isList);
    }

    private void defineTicks() {
        count(BulletStormConfig.TICK_SPOUT_INTERVAL)
            .checkIf(Validator.isInRange(BulletStormConfig.TICK_INTERVAL_MINIMUM, Double.POSITIVE_INFINITY));
        count(BulletStormConfig.FILTER_BOLT_STATS_REPORT_TICKS);
        count(BulletStormConfig.JOIN_BOLT_QUERY_POST_FINISH_BUFFER_TICKS);
        count(BulletStormConfig.JOIN_BOLT_WINDOW_PRE_START_DELAY_TICKS);
        define(BulletStormConfig.LOOP_BOLT_PUBSUB_OVERRIDES).checkIf(StormSettings::isMapOfNames);
    }

    private void defineResources(ComponentSettings component) {
        if (component.hasParallelism()) {
            count(component.parallelism());
        }
        load(component.cpuLoad());
        load(component.onHeapLoad());
        load(component.offHeapLoad());
    }

    private void defineRelations() {
        validator.relate("Built-in metrics need intervals", BulletStormConfig.TOPOLOGY_METRICS_BUILT_IN_ENABLE,
                         BulletStormConfig.TOPOLOGY_METRICS_BUILT_IN_EMIT_INTERVAL_MAPPING)
                 .checkIf((enabled, mapping) -> !Validator.isTrue(enabled) || !((Map<?, ?>) mapping).isEmpty());
        validator.evaluate("The shortest window must be at least the start delay and "
                               + BulletStormConfig.PRE_START_DELAY_BUFFER_TICKS + " ticks long",
                           BulletStormConfig.TICK_SPOUT_INTERVAL,
                           BulletStormConfig.JOIN_BOLT_WINDOW_PRE_START_DELAY_TICKS,
                           BulletConfig.WINDOW_MIN_EMIT_EVERY)
                 .checkIf(StormSettings::isWindowLongEnough)
                 .orFail();
    }

    private Validator.Entry define(String key) {
        return validator.define(key).defaultTo(defaults.get(key));
    }

    private void flag(String key) {
        define(key).checkIf(Validator::isBoolean);
    }

    private Validator.Entry count(String key) {
        return define(key).checkIf(Validator::isPositiveInt).castTo(Validator::asInt);
    }

    /** Bullet takes only a floating-point number here: 256 without a point falls back to the default. */
    private void load(String key) {
        define(key).checkIf(Validator::isPositive).checkIf(Validator::isFloat).castTo(Validator::asDouble);
    }

    private void className(String key) {
        define(key).checkIf(Validator::isClassName).unless(Validator::isNull).orFail();
    }

    private static boolean isIntervalMapping(Object value) {
        return value instanceof Map && ((Map<?, ?>) value).entrySet().stream().allMatch(
            entry -> BuiltInMetric.isIntervalKey(entry.getKey()) && Validator.isPositiveInt(entry.getValue()));
    }

    private static boolean isListOfStrings(Object value) {
        return value instanceof List && ((List<?>) value).stream().allMatch(Validator::isString);
    }

    private static boolean isMapOfNames(Object value) {
        return value instanceof Map
            && ((Map<?, ?>) value).keySet().stream()
            .allMatch(key -> key instanceof String && !((String) key).isEmpty());
    }

    private static boolean isWindowLongEnough(List<Object> values) {
        int tickMs = (Integer) values.get(0);
        int delayTicks = (Integer) values.get(1);
        int shortestWindowMs = (Integer) values.get(2);
        return shortestWindowMs >= tickMs * (delayTicks + BulletStormConfig.PRE_START_DELAY_BUFFER_TICKS);
    }
}
