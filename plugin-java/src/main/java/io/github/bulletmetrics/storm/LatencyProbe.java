package io.github.bulletmetrics.storm;

import java.util.List;
import java.util.Map;
import org.apache.storm.tuple.Tuple;

/**
 * Measures latencies in one kind of bolt, for {@link LatencyHook}. An exception ends the measuring in the task. Not
 * thread-safe.
 */
interface LatencyProbe {
    /** The task has executed a tuple. */
    void executed(Tuple tuple) throws Exception;

    /** The task has emitted a tuple. */
    void emitted(String stream, List<Object> values) throws Exception;

    /** The distributions so far, as a {@link io.github.bulletmetrics.storm.latency.LatencyPack}. */
    byte[] pack();

    /** Adds the counts of what could not be measured, by reason. */
    void addCounts(Map<String, Long> counts);
}
