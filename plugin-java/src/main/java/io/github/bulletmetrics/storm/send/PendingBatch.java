package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.proto.v1.Annotation;
import io.github.bulletmetrics.storm.proto.v1.Drop;
import io.github.bulletmetrics.storm.proto.v1.Gap;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.github.bulletmetrics.storm.proto.v1.WorkerInfo;
import java.util.Collections;
import java.util.List;

/**
 * A batch that is not acknowledged, or not yet part of a state. Its samples stay in the queue. Its content is the same
 * each time it is sent, except for the definitions that a new stream needs and the choice between blocks and columns.
 */
final class PendingBatch {
    final long sequence;
    /** First queue position of its samples. */
    final long from;
    /** End of its samples in the queue. */
    final long to;
    /** When it was cut, monotonic, ms. */
    final long cutMs;
    /** When it was sent first, ms since the Unix epoch; 0 before. */
    long firstSentMs;
    List<Drop> drops = Collections.emptyList();
    List<Gap> gaps = Collections.emptyList();
    List<WorkerInfo> workers = Collections.emptyList();
    /** Null if the batch does not announce it. */
    TopologyInfo topology;
    /** The annotation of the batch, or null. */
    Annotation note;
    /** Whether it is the last. */
    boolean closing;
    /** Ids of the series that it defined on this stream. */
    int[] definedSeries = {};
    /** Ids of the layouts that it defined on this stream, and how many columns these have. */
    int[] definedLayouts = {};
    int definedColumns;

    PendingBatch(long sequence, long from, long to, long cutMs) {
        this.sequence = sequence;
        this.from = from;
        this.to = to;
        this.cutMs = cutMs;
    }

    long samples() {
        return to - from;
    }

    boolean announces() {
        return topology != null || !workers.isEmpty() || !drops.isEmpty();
    }
}
