package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Map;
import java.util.function.Function;
import org.apache.storm.Config;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.utils.VersionInfo;

/**
 * Facts about the topology, as Storm reports them to its components. Facts that a version of Storm does not report are
 * omitted.
 */
final class TopologyFacts {
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
     * The facts that are reported once per stream.
     *
     * @param setting returns the value of a setting; null if it has none.
     */
    static TopologyInfo info(Map<?, ?> conf, Function<String, Object> setting, TopologyContext context) {
        TopologyInfo.Builder info = TopologyInfo.newBuilder()
                .setName(topologyName(conf))
                .setId(context.getStormId())
                .setStormVersion(stormVersion())
                .setBulletVersion(PluginVersion.ofBullet(Thread.currentThread().getContextClassLoader()))
                .setJavaVersion(System.getProperty("java.version", ""))
                .setPluginVersion(PluginVersion.ofPlugin());
        info.putAllSettings(ReportedSettings.of(setting));
        info.putAllSettings(ReportedSettings.retainLimit(conf.get(Config.TOPOLOGY_METRICS_CONSUMER_REGISTER)));
        ComponentFacts components = new ComponentFacts(conf, context);
        for (String component : components.names()) {
            info.addComponents(components.of(component));
        }
        return info.build();
    }

    private static String topologyName(Map<?, ?> conf) {
        Object name = conf.get(Config.TOPOLOGY_NAME);
        return name == null ? "" : name.toString();
    }

    private static String stormVersion() {
        try {
            return VersionInfo.getVersion();
        } catch (RuntimeException | LinkageError unavailable) {
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
