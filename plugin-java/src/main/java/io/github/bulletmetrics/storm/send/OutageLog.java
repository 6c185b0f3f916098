package io.github.bulletmetrics.storm.send;

import java.util.EnumMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs that the collector cannot be reached and that it can again: each kind of failure at once when it is new, and
 * then at most once in a while, however often streams break.
 */
final class OutageLog {
    private static final Logger LOG = LoggerFactory.getLogger(OutageLog.class);

    private final long logAgainMs;
    private final Map<StreamEnd.Kind, Long> loggedMs = new EnumMap<>(StreamEnd.Kind.class);
    private long failures;
    private long unlogged;
    private long sinceMs;
    private boolean said;

    /**
     * @param logAgainMs the least time between two lines about failures of one kind, ms.
     */
    OutageLog(long logAgainMs) {
        this.logAgainMs = logAgainMs;
    }

    /**
     * A stream ended, or did not begin.
     *
     * @param waiting samples that wait or were under way.
     * @return whether that was logged.
     */
    boolean failed(Address address, StreamEnd end, long waiting, long nowMs) {
        if (failures++ == 0) {
            sinceMs = nowMs;
        }
        Long before = loggedMs.get(end.kind());
        if (before != null && nowMs - before < logAgainMs) {
            unlogged++;
            return false;
        }
        LOG.warn("Metrics do not reach the collector at {}: {}. {} Trying on; {} samples wait. Not reached for {} s; failures since the last such line: {}.",
                address, end.message(), advice(end.kind()), waiting, (nowMs - sinceMs) / 1_000, unlogged);
        loggedMs.put(end.kind(), nowMs);
        unlogged = 0;
        said = true;
        return true;
    }

    /**
     * A stream made progress.
     *
     * @return whether that was logged: it is when the failure was.
     */
    boolean well(Address address, long nowMs) {
        boolean worthSaying = said;
        if (worthSaying) {
            LOG.info("Metrics reach the collector at {} again, after {} s and {} failed attempts.", address, (nowMs - sinceMs) / 1_000, failures);
        }
        failures = 0;
        said = false;
        return worthSaying;
    }

    private static String advice(StreamEnd.Kind kind) {
        switch (kind) {
            case DENIED:
                return "Check bullet.topology.metrics.collector.token.file and tls.* against the collector's settings.";
            case NOT_UNDERSTOOD:
                return "Plugin and collector may be of different releases.";
            case BUSY:
                return "It takes no further stream for now.";
            default:
                return "Is it running, and is bullet.topology.metrics.collector.address right?";
        }
    }
}
