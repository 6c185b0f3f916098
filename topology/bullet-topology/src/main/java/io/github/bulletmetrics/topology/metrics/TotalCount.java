package io.github.bulletmetrics.topology.metrics;

import org.apache.storm.metric.api.IMetric;

/** A count since the task's start that reading does not reset. Used on the executor's thread alone. */
public final class TotalCount implements IMetric {
    private long count;

    /** Adds one. */
    public void increment() {
        count++;
    }

    @Override
    public Object getValueAndReset() {
        return count;
    }
}
