package io.github.bulletmetrics.topology.grouping;

import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.task.WorkerTopologyContext;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Learns in which order Storm lists the tasks of a component to its groupings, hence to {@link IDGrouping}. It stands
 * on a stream that nothing is sent on. Storm prepares a component's groupings before the component itself.
 */
public final class TaskIndexCaptureGrouping implements CustomStreamGrouping {
    private static final long serialVersionUID = 1L;
    /** By topology, since one process may run several; an entry is as large as the component has tasks. */
    private static final Map<String, Map<Integer, Integer>> INDEXES = new ConcurrentHashMap<>();

    @Override
    public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targetTasks) {
        Map<Integer, Integer> indexes = new HashMap<>();
        targetTasks.forEach(task -> indexes.put(task, indexes.size()));
        INDEXES.put(context.getStormId(), indexes);
    }

    @Override
    public List<Integer> chooseTasks(int fromTask, List<Object> values) {
        throw new UnsupportedOperationException("no tuple may be emitted to this stream");
    }

    /**
     * The index of a task.
     *
     * @param topologyId the topology, as {@code TopologyContext.getStormId()} names it.
     * @param task the task's id.
     * @return the index; empty for a task of another component.
     */
    public static OptionalInt index(String topologyId, int task) {
        Integer index = INDEXES.getOrDefault(topologyId, Map.of()).get(task);
        return index == null ? OptionalInt.empty() : OptionalInt.of(index);
    }
}
