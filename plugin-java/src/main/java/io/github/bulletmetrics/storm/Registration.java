package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.flatten.Flattener;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.storm.Config;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Adds the settings to a topology's configuration without which its metrics would not be exported, and logs each with
 * its reason.
 *
 * <p>It runs in the process that submits the topology. A setting of the user is never replaced. If the setting is a
 * list or a map, the plugin's entry is added to it. {@link #V2_TICK} is the exception: it is always turned on, because
 * without it Storm 2.2 and later pass no CPU, heap or GC metrics to a consumer.
 */
final class Registration {
    private static final Logger LOG = LoggerFactory.getLogger(Registration.class);

    // Names that Storm 1.0.3 does not have yet.
    static final String V2_TICK = "topology.enable.v2.metrics.tick";
    static final String V2_TICK_INTERVAL = "topology.v2.metrics.tick.interval.seconds";
    static final String EMPTY_MAP = "java.util.Collections$EmptyMap";

    /** Before the settings that Bullet hands to Storm after registering. */
    private static final String CUSTOM = "bullet.topology.custom.";

    /** The interval at which worker, built-in and V2 metrics report where the user has none, s: as wide as a slice. */
    static final int INTERVAL_SECONDS = 10;

    /** By their names, since no topology has all the types that the classes name. */
    private static final List<String> CONSUMERS = Arrays.asList(StormMetricsConsumer.class.getName(),
            "io.github.bulletmetrics.storm.BulletMetricsConsumer",
            "io.github.bulletmetrics.storm.EarlyBulletMetricsConsumer");

    private Registration() {
    }

    /**
     * @param storm the topology's configuration; changed.
     * @param configuration returns the value of a setting's name; null if it has none.
     * @throws IllegalArgumentException when a setting is wrong; nothing is changed then.
     */
    static void register(Config storm, Function<String, Object> configuration) {
        Settings settings;
        try {
            settings = Settings.from(configuration);
        } catch (IllegalArgumentException wrong) {
            LOG.error("bullet-metrics: Failed to register the metrics consumer, so the topology will report no metrics: {}", wrong.getMessage());
            throw wrong;
        }
        Function<String, Object> effective = effective(storm, configuration);
        int executors = TopologySize.executors(effective);
        consumer(storm, settings, configuration, executors);
        set(storm, V2_TICK, true, "without it, Storm 2.2 and later pass no CPU, heap or GC metrics to consumers");
        setUnlessSet(storm, V2_TICK_INTERVAL, INTERVAL_SECONDS, "the width of a slice; used by Storm 2.3 and later");
        setUnlessSet(storm, Config.TOPOLOGY_BUILTIN_METRICS_BUCKET_SIZE_SECS, INTERVAL_SECONDS,
                "the width of a slice; workers send their samples in this interval");
        if (settings.isSamplerEnabled()) {
            sampler(storm);
        }
        if (settings.isLatencyEnabled()) {
            latencyHook(storm);
        }
        kryo(storm);
        new ConsumerResources(executors)
                .register(storm, effective, listOf(storm.get(Config.TOPOLOGY_METRICS_CONSUMER_REGISTER)).size() == 1);
        ReportIntervals.warnOfTooLong(effective);
    }

    /** The values in the running topology. Settings that Bullet passes to Storm after registering take precedence. */
    private static Function<String, Object> effective(Config storm, Function<String, Object> configuration) {
        return name -> {
            Object later = configuration.apply(CUSTOM + name);
            Object now = later == null ? storm.get(name) : later;
            return now == null && name.startsWith("bullet.") ? configuration.apply(name) : now;
        };
    }

    private static void consumer(Config storm, Settings settings, Function<String, Object> configuration,
            int executors) {
        List<Object> registered = listOf(storm.get(Config.TOPOLOGY_METRICS_CONSUMER_REGISTER));
        for (Object other : registered) {
            if (isOurs(other)) {
                LOG.warn("bullet-metrics: Skipped the registration: {} already contains {}.",
                        Config.TOPOLOGY_METRICS_CONSUMER_REGISTER, other);
                return;
            }
        }
        // Config.registerMetricsConsumer knows no max.retain.metric.tuples.
        Map<String, Object> entry = new LinkedHashMap<>();
        entry.put("class", StormMetricsConsumer.class.getName());
        entry.put("parallelism.hint", settings.parallelism());
        entry.put("max.retain.metric.tuples", settings.retainTuples(executors));
        entry.put("argument", argument(settings, configuration));
        registered.add(entry);
        storm.put(Config.TOPOLOGY_METRICS_CONSUMER_REGISTER, registered);
        LOG.info("bullet-metrics: Added to {}: {} (max.retain.metric.tuples: a metric tick of {} executors has up to {} reports, and Storm keeps only 100 by default).",
                Config.TOPOLOGY_METRICS_CONSUMER_REGISTER, entry,
                executors, 2 * executors);
    }

    /**
     * The plugin's settings, and those of Bullet that are reported to the collector: Bullet need not put them into
     * Storm's configuration.
     */
    private static Map<String, Object> argument(Settings settings, Function<String, Object> configuration) {
        Map<String, Object> argument = new LinkedHashMap<>(settings.asMap());
        for (String name : ReportedSettings.NAMES) {
            Object value = name.startsWith("bullet.") ? configuration.apply(name) : null;
            if (value != null) {
                argument.put(name, value);
            }
        }
        return argument;
    }

    /** Whether an entry of {@code topology.metrics.consumer.register} is the plugin's. */
    static boolean isOurs(Object entry) {
        return entry instanceof Map && CONSUMERS.contains(((Map<?, ?>) entry).get("class"));
    }

    private static void sampler(Config storm) {
        Map<Object, Object> metrics = new LinkedHashMap<>();
        if (storm.get(Config.TOPOLOGY_WORKER_METRICS) instanceof Map) {
            metrics.putAll((Map<?, ?>) storm.get(Config.TOPOLOGY_WORKER_METRICS));
        }
        metrics.put(Flattener.SAMPLER_METRIC, WorkerSampler.class.getName());
        storm.put(Config.TOPOLOGY_WORKER_METRICS, metrics);
        LOG.info("bullet-metrics: Added to {}: {} (samples CPU, heap and GC of each worker every second).",
                Config.TOPOLOGY_WORKER_METRICS, WorkerSampler.class.getName());
    }

    private static void latencyHook(Config storm) {
        List<Object> hooks = listOf(storm.get(Config.TOPOLOGY_AUTO_TASK_HOOKS));
        if (!hooks.contains(LatencyHook.class.getName())) {
            hooks.add(LatencyHook.class.getName());
            storm.put(Config.TOPOLOGY_AUTO_TASK_HOOKS, hooks);
            LOG.info("bullet-metrics: Added to {}: {} (measures latency distributions; set {}: false to disable it).",
                    Config.TOPOLOGY_AUTO_TASK_HOOKS, LatencyHook.class.getName(), Settings.LATENCY_ENABLED);
        }
    }

    private static void kryo(Config storm) {
        List<Object> registered = listOf(storm.get(Config.TOPOLOGY_KRYO_REGISTER));
        for (Object other : registered) {
            if (EMPTY_MAP.equals(other) || other instanceof Map && ((Map<?, ?>) other).containsKey(EMPTY_MAP)) {
                return;
            }
        }
        registered.add(EMPTY_MAP);
        storm.put(Config.TOPOLOGY_KRYO_REGISTER, registered);
        LOG.info("bullet-metrics: Added to {}: {} (without it, workers of Storm 2.8 fail on each other's metrics).",
                Config.TOPOLOGY_KRYO_REGISTER, EMPTY_MAP);
    }

    private static List<Object> listOf(Object value) {
        return value instanceof Collection ? new ArrayList<>((Collection<?>) value) : new ArrayList<>();
    }

    private static void set(Config storm, String name, Object value, String why) {
        Object before = storm.put(name, value);
        if (!value.equals(before)) {
            LOG.info("bullet-metrics: Set {} to {}{}: {}.", name, value, before == null ? "" : " (was " + before
                    + ")", why);
        }
    }

    private static void setUnlessSet(Config storm, String name, Object value, String why) {
        if (storm.get(name) == null) {
            set(storm, name, value, why);
        } else {
            LOG.info("bullet-metrics: Kept {} at {}.", name, storm.get(name));
        }
    }
}
