package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.proto.v1.ComponentInfo;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.storm.Config;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.utils.VersionInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** What the topology is, as Storm tells its components. Whatever a Storm version does not tell is left out. */
final class TopologyFacts {
    private static final Logger LOG = LoggerFactory.getLogger(TopologyFacts.class);

    /** Settings that are told: what bears on capacity. No others, since settings hold passwords. */
    static final List<String> SETTINGS_TOLD = Collections.unmodifiableList(Arrays.asList(
            "topology.workers", "topology.acker.executors", "topology.eventlogger.executors", "topology.max.spout.pending",
            "topology.message.timeout.secs", "topology.stats.sample.rate", "topology.builtin.metrics.bucket.size.secs",
            "topology.enable.v2.metrics.tick", "topology.v2.metrics.tick.interval.seconds", "topology.worker.max.heap.size.mb",
            "topology.component.resources.onheap.memory.mb", "topology.component.resources.offheap.memory.mb",
            "topology.component.cpu.pcore.percent", "topology.executor.receive.buffer.size", "topology.transfer.buffer.size",
            "topology.backpressure.enable", "topology.scheduler.strategy",
            "bullet.topology.metrics.built.in.enable", "bullet.topology.metrics.built.in.emit.interval.mapping",
            "bullet.topology.filter.bolt.parallelism", "bullet.topology.filter.bolt.cpu.load", "bullet.topology.filter.bolt.memory.on.heap.load",
            "bullet.topology.filter.bolt.memory.off.heap.load", "bullet.topology.join.bolt.parallelism", "bullet.topology.join.bolt.cpu.load",
            "bullet.topology.join.bolt.memory.on.heap.load", "bullet.topology.query.spout.parallelism",
            "bullet.topology.bullet.spout.parallelism", "bullet.topology.dsl.spout.parallelism", "bullet.topology.result.bolt.parallelism",
            "bullet.topology.tick.spout.interval.ms"));

    private static final int MAX_SETTING_CHARS = 1_000;
    private static final Pattern CPU = setting("topology\\.component\\.cpu\\.pcore\\.percent|cpu\\.pcore\\.percent");
    private static final Pattern ON_HEAP = setting("topology\\.component\\.resources\\.onheap\\.memory\\.mb|onheap\\.memory\\.mb");
    private static final Pattern OFF_HEAP = setting("topology\\.component\\.resources\\.offheap\\.memory\\.mb|offheap\\.memory\\.mb");

    private TopologyFacts() {
    }

    /** How a stream begins. */
    static Open open(Map<?, ?> conf, TopologyContext context) {
        Open.Builder open = Open.newBuilder()
                .setTopology(topologyName(conf))
                .setTopologyId(context.getStormId())
                .setHost(host(conf))
                .setTask(context.getThisTaskId())
                .setPluginVersion(PluginVersion.ofPlugin());
        Integer port = context.getThisWorkerPort();
        return open.setPort(port == null ? 0 : port).build();
    }

    /**
     * What is told once a stream.
     *
     * @param setting yields the value of a setting; null where it has none.
     */
    static TopologyInfo info(Map<?, ?> conf, Function<String, Object> setting, TopologyContext context) {
        TopologyInfo.Builder info = TopologyInfo.newBuilder()
                .setName(topologyName(conf))
                .setId(context.getStormId())
                .setStormVersion(stormVersion())
                .setBulletVersion(PluginVersion.ofBullet(Thread.currentThread().getContextClassLoader()))
                .setJavaVersion(System.getProperty("java.version", ""))
                .setPluginVersion(PluginVersion.ofPlugin());
        for (String name : SETTINGS_TOLD) {
            Object value = setting.apply(name);
            if (value != null) {
                String text = value.toString();
                info.putSettings(name, text.length() <= MAX_SETTING_CHARS ? text : text.substring(0, MAX_SETTING_CHARS));
            }
        }
        for (String component : new TreeSet<>(context.getComponentIds())) {
            info.addComponents(component(component, context));
        }
        return info.build();
    }

    private static ComponentInfo component(String name, TopologyContext context) {
        ComponentInfo.Builder info = ComponentInfo.newBuilder().setName(name);
        try {
            List<Integer> tasks = context.getComponentTasks(name);
            info.addAllTasks(tasks);
            ComponentCommon common = context.getComponentCommon(name);
            int hint = common.is_set_parallelism_hint() ? common.get_parallelism_hint() : 1;
            info.setParallelism(Math.min(Math.max(hint, 1), Math.max(tasks.size(), 1)));
            if (common.is_set_json_conf()) {
                info.setCpuPercent(number(CPU, common.get_json_conf()))
                        .setOnHeapMib(number(ON_HEAP, common.get_json_conf()))
                        .setOffHeapMib(number(OFF_HEAP, common.get_json_conf()));
            }
        } catch (RuntimeException | LinkageError untold) {
            LOG.debug("Storm does not tell what component {} is", name, untold);
        }
        return info.build();
    }

    /** Storm's JSON library has another name in each line; of its output two or three numbers are needed. */
    private static Pattern setting(String name) {
        return Pattern.compile("\"(?:" + name + ")\"\\s*:\\s*([0-9][0-9.eE+-]*)");
    }

    private static double number(Pattern setting, String json) {
        Matcher found = setting.matcher(json);
        try {
            return found.find() ? Double.parseDouble(found.group(1)) : 0;
        } catch (NumberFormatException noNumber) {
            return 0;
        }
    }

    private static String topologyName(Map<?, ?> conf) {
        Object name = conf.get(Config.TOPOLOGY_NAME);
        return name == null ? "" : name.toString();
    }

    private static String stormVersion() {
        try {
            return VersionInfo.getVersion();
        } catch (RuntimeException | LinkageError untold) {
            return "";
        }
    }

    private static String host(Map<?, ?> conf) {
        Object configured = conf.get(Config.STORM_LOCAL_HOSTNAME);
        if (configured != null) {
            return configured.toString();
        }
        try {
            return InetAddress.getLocalHost().getCanonicalHostName();
        } catch (UnknownHostException unnamed) {
            return "localhost";
        }
    }
}
