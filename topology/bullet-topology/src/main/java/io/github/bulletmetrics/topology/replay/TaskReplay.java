package io.github.bulletmetrics.topology.replay;

import java.util.List;

/**
 * How far the replay bolt is with one task: which batch is on its way, and which query spout task moves it on. Two
 * spouts may read a request of the same task; the one that began last moves it on, and the other's part ends with its
 * next tuple.
 */
public final class TaskReplay {
    /** What to do about a tuple of a query spout. */
    public enum Step {
        /** Send {@link #batch()}. */
        SEND,
        /** The last batch, which is null, has arrived: nothing is left to do. */
        FINISH,
        /** It is of a replay that has finished, or of a spout that does not move this one on. */
        REFUSE
    }

    private static final int NOBODY = -1;

    private final int task;
    private final long since;
    private List<Object> batches;
    private int index;
    private int spout;

    /**
     * Begins a replay with its first batch.
     *
     * @param task the task that asks.
     * @param since when it began to ask, ms; newer requests replace older ones.
     * @param batches what it is to get.
     * @param spout the query spout task that brought the request.
     */
    public TaskReplay(int task, long since, List<Object> batches, int spout) {
        this.task = task;
        this.since = since;
        this.batches = batches;
        this.spout = spout;
    }

    /**
     * Decides about a further tuple of this replay.
     *
     * @param acked whether the last batch has arrived; false asks for it (again).
     * @param fromSpout the query spout task.
     * @return what to do.
     */
    public Step next(boolean acked, int fromSpout) {
        if (isFinished() || acked && fromSpout != spout) {
            return Step.REFUSE;
        }
        if (!acked) {
            spout = fromSpout;
            return Step.SEND;
        }
        if (index < batches.size()) {
            index++;
            return Step.SEND;
        }
        batches = null;
        spout = NOBODY;
        return Step.FINISH;
    }

    private boolean isFinished() {
        return batches == null;
    }

    /**
     * The batch that is on its way.
     *
     * @return null after the last.
     */
    public Object batch() {
        return index < batches.size() ? batches.get(index) : null;
    }

    /**
     * The number of that batch.
     *
     * @return from 0.
     */
    public int index() {
        return index;
    }

    /**
     * The task that gets the batches.
     *
     * @return its id.
     */
    public int task() {
        return task;
    }

    /**
     * When that task began to ask.
     *
     * @return ms since 1970 by the task's clock.
     */
    public long since() {
        return since;
    }
}
