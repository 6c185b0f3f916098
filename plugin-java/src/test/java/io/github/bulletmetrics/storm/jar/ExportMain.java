package io.github.bulletmetrics.storm.jar;

import clojure.lang.Atom;
import io.github.bulletmetrics.storm.StormMetricsConsumer;
import io.github.bulletmetrics.storm.WorkerSampler;
import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;
import org.apache.storm.metric.api.IMetricsConsumer.TaskInfo;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.tuple.Values;

/**
 * What Storm does with the plugin, in a JVM that has the finished jar. Arguments: settings, "name=value" without the
 * common prefix. Ends after a line on its standard input. The last line printed is how long it took.
 */
public final class ExportMain {
    private ExportMain() {
    }

    public static void main(String[] arguments) throws IOException {
        if (!StormMetricsConsumer.class.getProtectionDomain().getCodeSource().getLocation().getPath().endsWith(
                ".jar")) {
            throw new IllegalStateException("the plugin does not come from its jar");
        }
        Map<String, Object> settings = new HashMap<>();
        for (String argument : arguments) {
            int equals = argument.indexOf('=');
            settings.put("bullet.topology.metrics.collector." + argument.substring(0, equals),
                    argument.substring(equals + 1));
        }
        long begin = System.nanoTime();
        StormMetricsConsumer consumer = new StormMetricsConsumer();
        consumer.prepare(conf(), settings, context(), null);
        long prepared = System.nanoTime();
        long seconds = System.currentTimeMillis() / 1000;
        consumer.handleDataPoints(new TaskInfo("worker-1", 6700, "FilterBolt", 3, seconds, 10),
                Arrays.asList(new DataPoint("bullet_filter_latency", 1.5),
                new DataPoint("__ack-count", Collections.singletonMap("DataSource:default", 20L))));
        consumer.handleDataPoints(new TaskInfo("worker-1", 6700, "__system", -1, seconds, 10),
                Arrays.asList(new DataPoint("bullet-metrics.sampler", new WorkerSampler().getValueAndReset())));
        consumer.handleDataPoints(new TaskInfo("worker-1", 6700, "FilterBolt", 3, seconds, 10),
                Arrays.asList(latencies()));
        long handled = System.nanoTime();
        System.in.read();
        long reported = System.nanoTime();
        consumer.cleanup();
        System.out.printf("prepare %d ms, first reports %d ms, connect and export %d ms, close %d ms%n",
                (prepared - begin) / 1_000_000,
                (handled - prepared) / 1_000_000, (reported - handled) / 1_000_000,
                (System.nanoTime() - reported) / 1_000_000);
    }

    /**
     * What the hook has to say after one record, made by the name that register() sets and by its constructor, as Storm
     * makes it.
     */
    private static DataPoint latencies() {
        Map<Integer, Map<Integer, Map<String, IMetric>>> registered = new HashMap<>();
        Map<Integer, String> tasks = new HashMap<>();
        tasks.put(1, "DataSource");
        tasks.put(3, "FilterBolt");
        Map<String, Map<String, Fields>> fields = Collections.singletonMap("DataSource",
                Collections.singletonMap("default", new Fields("record", "timestamp")));
        TopologyContext context = new TopologyContext(topology(), conf(), tasks, new HashMap<>(), fields,
                "bullet-1-1700000000", "", "", 3, 6700,
                Collections.singletonList(3), new HashMap<>(), new HashMap<>(), new HashMap<>(), registered,
                new Atom(false));
        ITaskHook hook;
        try {
            hook = (ITaskHook) Class.forName("io.github.bulletmetrics.storm.LatencyHook").getDeclaredConstructor()
                    .newInstance();
        } catch (ReflectiveOperationException notThere) {
            throw new IllegalStateException(notThere);
        }
        hook.prepare(conf(), context);
        hook.boltExecute(new BoltExecuteInfo(
                new TupleImpl(context, new Values("record", System.currentTimeMillis() - 20), 1, "default"), 3, null));
        String metric = "bullet-metrics.latency";
        return new DataPoint(metric, registered.get(60).get(3).get(metric).getValueAndReset());
    }

    private static org.apache.storm.generated.StormTopology topology() {
        return new org.apache.storm.generated.StormTopology(new HashMap<>(), new HashMap<>(), new HashMap<>());
    }

    static Map<String, Object> conf() {
        Map<String, Object> conf = new HashMap<>();
        conf.put("topology.name", "bullet");
        conf.put("storm.local.hostname", "consumer-host");
        return conf;
    }

    static TopologyContext context() {
        return new TopologyContext(topology(), conf(), new HashMap<>(), new HashMap<>(), new HashMap<>(),
                "bullet-1-1700000000", "", "", 9, 6700,
                Collections.singletonList(9), new HashMap<>(), new HashMap<>(), new HashMap<>(), new HashMap<>(), null);
    }
}
