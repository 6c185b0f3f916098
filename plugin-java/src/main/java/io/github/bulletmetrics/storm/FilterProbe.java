package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.latency.LatencyHistogram;
import io.github.bulletmetrics.storm.latency.LatencyPack;
import java.util.List;
import java.util.Map;
import org.apache.storm.tuple.Tuple;

/**
 * Measures the time from a record's timestamp until it is filtered. Bullet's own {@code bullet_filter_latency} is the
 * mean of these times. Bullet before 0.4.3 puts no timestamp into its tuples, so that nothing is measured.
 */
final class FilterProbe implements LatencyProbe {
    /** The bolt that it is for. */
    static final String COMPONENT = "FilterBolt";
    private static final int TIMESTAMP = 1;

    /** The component that brings records has the name that its topology gives it. */
    private final SourceTasks records = new SourceTasks(component -> !component.equals(QueryProbe.QUERY_SPOUT)
            && !component.equals("TickSpout")
            && !component.equals("ReplayBolt") && !component.startsWith("__"));
    private final LatencyHistogram latencies = new LatencyHistogram();
    private final LatencyPack.Writer writer = new LatencyPack.Writer().add("bullet_filter_latency_seconds", "",
            latencies);

    @Override
    public void executed(Tuple tuple) {
        if (records.has(tuple) && tuple.size() > TIMESTAMP) {
            Object timestamp = tuple.getValue(TIMESTAMP);
            if (timestamp instanceof Long) {
                latencies.record(System.currentTimeMillis() - (Long) timestamp);
            }
        }
    }

    @Override
    public void emitted(String stream, List<Object> values) {
        // A FilterBolt emits data of queries, not records.
    }

    @Override
    public byte[] pack() {
        return writer.write();
    }

    @Override
    public void addCounts(Map<String, Long> counts) {
        // Every record that it sees is measured.
    }
}
