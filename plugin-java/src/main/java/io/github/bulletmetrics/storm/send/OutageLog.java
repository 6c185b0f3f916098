package io.github.bulletmetrics.storm.send;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Says once that the collector cannot be reached, once in a while that it still cannot, and once that it can again. */
final class OutageLog {
    private static final Logger LOG = LoggerFactory.getLogger(OutageLog.class);

    private final long logAgainMs;
    private long failures;
    private long sinceMs;
    private long loggedMs;
    private StreamEnd.Kind loggedKind;

    OutageLog(long logAgainMs) {
        this.logAgainMs = logAgainMs;
    }

    void failed(Address address, StreamEnd end, long waiting, long nowMs) {
        if (failures++ == 0) {
            sinceMs = nowMs;
        }
        if (end.kind() == loggedKind && nowMs - loggedMs < logAgainMs) {
            return;
        }
        loggedKind = end.kind();
        loggedMs = nowMs;
        LOG.warn("Metrics do not reach the collector at {}: {}. {} {} samples wait; failed attempts since {} s: {}. Trying on.", address,
                end.message(), advice(end.kind()), waiting, (nowMs - sinceMs) / 1_000, failures);
    }

    /** A stream made progress. */
    void well(Address address, long nowMs) {
        if (loggedKind != null) {
            LOG.info("Metrics reach the collector at {} again, after {} s and {} failed attempts.", address, (nowMs - sinceMs) / 1_000, failures);
        }
        failures = 0;
        loggedKind = null;
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
