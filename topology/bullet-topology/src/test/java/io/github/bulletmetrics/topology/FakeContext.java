package io.github.bulletmetrics.topology;

import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.TopologyContext;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A task's context that knows nothing and keeps the metrics registered with it. */
public final class FakeContext extends TopologyContext {
    public final Map<String, IMetric> metrics = new HashMap<>();
    public final Map<String, Integer> intervals = new HashMap<>();

    public FakeContext() {
        this(Map.of("FakeBolt", List.of(1)), 1);
    }

    /** A task of a topology with these components and their tasks. */
    public FakeContext(Map<String, List<Integer>> components, int task) {
        super(null, Map.of(), byTask(components), components, Map.of(), Map.of(), "fake-1", "", "", task, 0, null, null,
                null, null,
              null, null, null);
    }

    private static Map<Integer, String> byTask(Map<String, List<Integer>> components) {
        Map<Integer, String> byTask = new HashMap<>();
        components.forEach((component, tasks) -> tasks.forEach(task -> byTask.put(task, component)));
        return byTask;
    }

    @Override
    @SuppressWarnings("deprecation") // It is the one that Bullet's metrics need.
    public <T extends IMetric> T registerMetric(String name, T metric, int intervalSeconds) {
        metrics.put(name, metric);
        intervals.put(name, intervalSeconds);
        return metric;
    }

    public Object value(String name) {
        return metrics.get(name).getValueAndReset();
    }
}
