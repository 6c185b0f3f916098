package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.latency.Creations;
import io.github.bulletmetrics.storm.latency.LatencyPack;
import io.github.bulletmetrics.storm.latency.QueryTimes;
import io.github.bulletmetrics.storm.latency.Signals;
import java.util.List;
import java.util.Map;
import org.apache.storm.tuple.Tuple;

/**
 * Measures three times of a query in JoinBolt: from its arrival until its result is sent, from its creation by the
 * client until its result is sent, and from its arrival until the first result is sent.
 */
final class QueryProbe implements LatencyProbe {
    /** The bolt that it is for. */
    static final String COMPONENT = "JoinBolt";
    /** Where queries come from. */
    static final String QUERY_SPOUT = "QuerySpout";
    private static final String DEFAULT_STREAM = "default";
    private static final String METADATA_STREAM = "metadata";
    private static final int ID = 0;
    /** In what comes by the default stream. */
    private static final int MESSAGE = 1;
    /** In what comes by the stream of metadata. */
    private static final int METADATA = 1;
    /** In a result. */
    private static final int RESULT_METADATA = 2;

    private final SourceTasks queries = new SourceTasks(QUERY_SPOUT::equals);
    private final Signals signals = new Signals();
    private final Creations creations = new Creations();
    private final QueryTimes times = new QueryTimes();
    private final LatencyPack.Writer writer = new LatencyPack.Writer()
            .add("bullet_query_engine_latency_seconds", "complete", times.completedTimes())
            .add("bullet_query_engine_latency_seconds", "fail", times.failedTimes())
            .add("bullet_query_created_latency_seconds", "complete", times.completedTimesSinceCreated())
            .add("bullet_query_created_latency_seconds", "fail", times.failedTimesSinceCreated())
            .add("bullet_query_first_result_latency_seconds", "", times.firstSentTimes());

    @Override
    public void executed(Tuple tuple) throws ReflectiveOperationException {
        if (!queries.has(tuple) || tuple.size() <= METADATA || !(tuple.getValue(ID) instanceof String)) {
            return;
        }
        String id = (String) tuple.getValue(ID);
        String stream = tuple.getSourceStreamId();
        if (DEFAULT_STREAM.equals(stream)) {
            times.arrived(id, System.currentTimeMillis(), creations.of(tuple.getValue(MESSAGE)));
        } else if (METADATA_STREAM.equals(stream)) {
            String signal = signals.of(tuple.getValue(METADATA));
            if ("KILL".equals(signal) || "COMPLETE".equals(signal)) {
                times.removed(id);
            }
        }
    }

    @Override
    public void emitted(String stream, List<Object> values) throws ReflectiveOperationException {
        if (!DEFAULT_STREAM.equals(stream) || values.size() <= RESULT_METADATA || !(values.get(ID) instanceof String)) {
            return;
        }
        String id = (String) values.get(ID);
        String signal = signals.of(values.get(RESULT_METADATA));
        long now = System.currentTimeMillis();
        if (signal == null) {
            times.windowSent(id, now);
        } else if (signal.equals("COMPLETE")) {
            times.completed(id, now);
        } else if (signal.equals("FAIL")) {
            times.failed(id, now);
        }
    }

    @Override
    public byte[] pack() {
        return writer.write();
    }

    @Override
    public void addCounts(Map<String, Long> counts) {
        counts.put("unseen", times.unseenQueries());
        counts.put("evicted", times.evictedQueries());
    }
}
