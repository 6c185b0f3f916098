package io.github.bulletmetrics.topology.kafkatests;

import io.github.bulletmetrics.topology.dsl.DSLSpout;

import org.apache.storm.metric.api.IMetric;
import org.apache.storm.spout.ISpoutOutputCollector;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** One task of a DSL spout without a cluster, on the calling thread; counts what it emits. */
final class OneTask implements ISpoutOutputCollector, AutoCloseable {
    private final DSLSpout spout;
    private final Map<String, IMetric> metrics = new HashMap<>();
    private long messages;
    private int largestBatch;

    OneTask(DSLSpout spout) {
        this.spout = spout;
        spout.open(Map.of(), new Context(), new SpoutOutputCollector(this));
    }

    void nextTuple() {
        spout.nextTuple();
    }

    Object metric(String name) {
        return metrics.get(name).getValueAndReset();
    }

    long messages() {
        return messages;
    }

    int largestBatch() {
        return largestBatch;
    }

    @Override
    public List<Integer> emit(String stream, List<Object> values, Object id) {
        int size = ((List<?>) values.get(0)).size();
        messages += size;
        largestBatch = Math.max(largestBatch, size);
        return List.of();
    }

    @Override
    public void emitDirect(int task, String stream, List<Object> values, Object id) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long getPendingCount() {
        return 0;
    }

    @Override
    public void flush() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void reportError(Throwable error) {
        throw new UnsupportedOperationException(error);
    }

    @Override
    public void close() {
        spout.close();
    }

    private final class Context extends TopologyContext {
        Context() {
            super(null, Map.of(), Map.of(1, "DataSpout"), Map.of("DataSpout", List.of(1)), Map.of(), Map.of(), "one-1",
                    "", "", 1, 0,
                  null, null, null, null, null, null, null);
        }

        @Override
        @SuppressWarnings("deprecation") // It is the one that Bullet's metrics need.
        public <T extends IMetric> T registerMetric(String name, T metric, int intervalSeconds) {
            metrics.put(name, metric);
            return metric;
        }
    }
}
