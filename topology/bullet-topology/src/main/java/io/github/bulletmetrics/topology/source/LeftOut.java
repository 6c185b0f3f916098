package io.github.bulletmetrics.topology.source;

import java.util.Locale;

/** Why a message that was read, or a record that was due, did not become a record of the topology. */
public enum LeftOut {
    /** It had no value, as a deleted key of a compacted Kafka topic. */
    EMPTY,
    /** The spout's sampling did not take it. */
    SAMPLING,
    /** No record could be made of it. */
    CONVERSION,
    /** The generator came to it too late. */
    LATE;

    /** The key in the metric's map and the label of the canonical metric. */
    public String reason() {
        return name().toLowerCase(Locale.ROOT);
    }
}
