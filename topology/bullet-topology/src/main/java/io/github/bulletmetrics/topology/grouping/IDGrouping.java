package io.github.bulletmetrics.topology.grouping;

import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.task.WorkerTopologyContext;

import java.util.List;

/**
 * Groups by the first value of a tuple, a query's id. Storm's fields grouping does the same by a hash that is its own;
 * this one is known, so that the replay bolt can tell which queries belong to which task.
 */
public final class IDGrouping implements CustomStreamGrouping {
    private static final long serialVersionUID = 1L;

    private transient List<List<Integer>> tasks;

    @Override
    public void prepare(WorkerTopologyContext context, GlobalStreamId stream, List<Integer> targetTasks) {
        tasks = targetTasks.stream().map(List::of).toList();
    }

    @Override
    public List<Integer> chooseTasks(int fromTask, List<Object> values) {
        return tasks.get(index(values.get(0), tasks.size()));
    }

    /**
     * The index of the task that an id belongs to.
     *
     * @param id a query's id.
     * @param tasks how many tasks there are, at least 1.
     * @return from 0 to {@code tasks - 1}.
     */
    public static int index(Object id, int tasks) {
        return (id.hashCode() & Integer.MAX_VALUE) % tasks;
    }
}
