package io.github.bulletmetrics.topology.kafkatests;

import org.apache.storm.Config;
import org.apache.storm.metric.api.IMetricsConsumer;
import org.apache.storm.task.IErrorReporter;
import org.apache.storm.task.TopologyContext;

import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A metrics consumer that keeps the last value of every bullet_source metric of each task. */
public final class SourceMetrics implements IMetricsConsumer {
    /** By topology and metric, then by task. */
    private static final Map<String, Map<Integer, Object>> LAST = new ConcurrentHashMap<>();

    private String topology;

    /** The sum over tasks, -1 while fewer than so many tasks have said anything. */
    static long sum(String topology, String name, int tasks) {
        Map<Integer, Object> values = LAST.getOrDefault(topology + " " + name, Map.of());
        return values.size() < tasks ? -1 : values.values().stream().mapToLong(value -> ((Number) value).longValue())
                .sum();
    }

    /** The same of a map's entries. */
    static long sumOfMaps(String topology, String name) {
        return LAST.getOrDefault(topology + " " + name, Map.of()).values().stream()
                .flatMap(map -> ((Map<?, ?>) map).values().stream())
            .mapToLong(value -> ((Number) value).longValue()).sum();
    }

    @Override
    public void prepare(Map<String, Object> conf, Object argument, TopologyContext context, IErrorReporter errors) {
        topology = (String) conf.get(Config.TOPOLOGY_NAME);
    }

    @Override
    public void handleDataPoints(TaskInfo task, Collection<DataPoint> points) {
        for (DataPoint point : points) {
            if (point.name.startsWith("bullet_source_")) {
                LAST.computeIfAbsent(topology + " " + point.name, name -> new ConcurrentHashMap<>())
                        .put(task.srcTaskId, point.value);
            }
        }
    }

    @Override
    public void cleanup() {
    }
}
