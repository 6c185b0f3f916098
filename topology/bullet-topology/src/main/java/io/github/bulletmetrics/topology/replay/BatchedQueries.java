package io.github.bulletmetrics.topology.replay;

import com.yahoo.bullet.pubsub.PubSubMessage;
import io.github.bulletmetrics.topology.grouping.IDGrouping;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Every query that runs, in batches for those who must have it: a filter bolt task all of them, a join bolt task its
 * own.
 */
public final class BatchedQueries {
    private final Partition[] partitions;
    private final BatchFormat format;

    /**
     * Keeps no query yet.
     *
     * @param joinTasks the tasks of the join bolt; a query belongs to that of its {@link IDGrouping#index}.
     * @param batchSize about how many queries a batch has at most.
     * @param format how they are sent.
     */
    public BatchedQueries(int joinTasks, int batchSize, BatchFormat format) {
        this.format = format;
        partitions = Stream.generate(() -> new Partition(batchSize)).limit(joinTasks).toArray(Partition[]::new);
    }

    /**
     * The number of queries.
     *
     * @return of all join bolt tasks.
     */
    public long size() {
        return Arrays.stream(partitions).mapToLong(Partition::size).sum();
    }

    /**
     * Adds a query, unless there is one of that id.
     *
     * @param id the query's id.
     * @param message the query as it came.
     */
    public void add(String id, PubSubMessage message) {
        partition(id).add(id, message);
    }

    /**
     * Replaces all by others.
     *
     * @param queries by id.
     */
    public void reset(Map<String, PubSubMessage> queries) {
        Arrays.stream(partitions).forEach(Partition::clear);
        queries.forEach(this::add);
    }

    /**
     * Removes a query; none of that id is no error.
     *
     * @param id the query's id.
     */
    public void remove(String id) {
        partition(id).remove(id);
    }

    /**
     * The batches of all queries as they are now.
     *
     * @return values for tuples, not to be changed; at least one a join bolt task.
     */
    public List<Object> all() {
        return Arrays.stream(partitions).flatMap(partition -> partition.sendable(format).stream()).toList();
    }

    /**
     * The batches of one join bolt task as they are now.
     *
     * @param joinTask the task's index.
     * @return values for tuples, not to be changed; at least one.
     */
    public List<Object> of(int joinTask) {
        return partitions[joinTask].sendable(format);
    }

    private Partition partition(String id) {
        return partitions[IDGrouping.index(id, partitions.length)];
    }
}
