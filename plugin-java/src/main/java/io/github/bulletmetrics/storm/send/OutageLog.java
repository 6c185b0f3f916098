package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.proto.v1.Annotation;
import io.github.bulletmetrics.storm.proto.v1.Open;
import java.util.EnumMap;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Logs when the collector becomes unreachable and reachable again. A new kind of failure is logged at once, and
 * repetitions are logged at long intervals, however often streams break. Past outages are also reported to the
 * collector.
 */
final class OutageLog {
    private static final Logger LOG = LoggerFactory.getLogger(OutageLog.class);

    /** Message of Java's TLS if the answer is not TLS. Java 8 begins it with a capital letter. */
    private static final String NOT_TLS = "nrecognized SSL message";
    /**
     * Messages of OkHttp, which reads the first three bytes of an answer as the length of an HTTP/2 frame: a TLS alert,
     * which answers plain text, and "HTT".
     */
    private static final String TLS_ALERT = "FRAME_SIZE_ERROR: 13770";
    private static final String HTTP_1 = "FRAME_SIZE_ERROR: 4740180";
    /** Message of OkHttp if the connection was closed: by Go's TLS after plain text, or by a collector that ends. */
    private static final String CLOSED = "End of stream or IOException";

    /** At most a third of the schema's limits in bytes, because a character has up to three. */
    private static final int MAX_ID_CHARACTERS = 40;
    private static final int MAX_TITLE_CHARACTERS = 80;
    private static final int MAX_TEXT_CHARACTERS = 2_000;

    private final long logAgainMs;
    private final Map<StreamEnd.Kind, Long> loggedMs = new EnumMap<>(StreamEnd.Kind.class);
    private long failures;
    private long unlogged;
    private long outageStartMs;
    private boolean logged;
    private String last = "";

    /**
     * @param logAgainMs the least time between two lines about failures of one kind, ms.
     */
    OutageLog(long logAgainMs) {
        this.logAgainMs = logAgainMs;
    }

    /**
     * A stream ended, or did not begin.
     *
     * @param waiting the number of samples that are queued or were in flight.
     * @return whether it was logged.
     */
    boolean failed(Address address, StreamEnd end, long waiting, long nowMs) {
        if (failures++ == 0) {
            outageStartMs = nowMs;
        }
        last = address + ": " + end.message() + ". " + advice(end);
        Long before = loggedMs.get(end.kind());
        if (before != null && nowMs - before < logAgainMs) {
            unlogged++;
            return false;
        }
        LOG.warn("bullet-metrics: Metrics do not reach the collector at {}: {}. {} Retrying; {} samples are queued. Unreachable for {} s; failures since the last such message: {}.",
                address, end.message(), advice(end), waiting, (nowMs - outageStartMs) / 1_000, unlogged);
        loggedMs.put(end.kind(), nowMs);
        unlogged = 0;
        logged = true;
        return true;
    }

    /**
     * A stream made progress, which is logged if the failure was.
     *
     * @return whether it was logged.
     */
    boolean recovered(Address address, long nowMs) {
        boolean wasLogged = logged;
        if (wasLogged) {
            LOG.info("bullet-metrics: Metrics reach the collector at {} again, after {} s and {} failed attempts.",
                    address, (nowMs - outageStartMs) / 1_000, failures);
        }
        failures = 0;
        logged = false;
        return wasLogged;
    }

    /**
     * An annotation about the outage, which the collector stores, so that nobody has to find the worker with the log
     * message. It replaces the sender's previous one.
     */
    Annotation note(Open sender, long nowMs, long wallMs) {
        long lastedMs = nowMs - outageStartMs;
        String name = sender.getHost() + ":" + sender.getPort();
        return Annotation.newBuilder()
                .setId(shortened("plugin-" + sender.getTask() + "-" + name, MAX_ID_CHARACTERS))
                .setTimeMs(wallMs - lastedMs)
                .setEndTimeMs(wallMs)
                .setTitle(shortened("Metrics did not reach the collector from " + name + " for " + lastedMs / 1_000
                + " s", MAX_TITLE_CHARACTERS))
                .setText(shortened(last, MAX_TEXT_CHARACTERS))
                .addTags("plugin")
                .addTags("unreached")
                .build();
    }

    /** The newest failure: which address, what happened, what to do. */
    String last() {
        return last;
    }

    private static String shortened(String text, int characters) {
        return text.length() <= characters ? text : text.substring(0, characters);
    }

    /** What to do. The cause in the message is more specific than the kind of the end. */
    private static String advice(StreamEnd end) {
        String message = end.message();
        if (message.startsWith(StreamEnd.NOT_OPENED)) {
            return "Fix the file that the message names, on this worker's host.";
        }
        if (message.contains(NOT_TLS)) {
            return "The server does not use TLS, but bullet.topology.metrics.collector.tls.enabled is true. Enable TLS in the collector, or set it to false.";
        }
        if (message.contains(TLS_ALERT)) {
            return "The server requires TLS. Set bullet.topology.metrics.collector.tls.enabled to true, and tls.ca.file.";
        }
        if (message.contains(HTTP_1)) {
            return "The server speaks HTTP, not gRPC. Use the port of the collector's grpc.listen, 4320 by default.";
        }
        if (message.contains(CLOSED)) {
            return "The server closed the connection. It has ended, or it requires TLS and bullet.topology.metrics.collector.tls.enabled is not true.";
        }
        switch (end.kind()) {
            case DENIED:
                return "Check bullet.topology.metrics.collector.token.file and tls.* against the collector's settings.";
            case NOT_UNDERSTOOD:
                return "Plugin and collector may have incompatible versions.";
            case BUSY:
                return "The collector accepts no more streams at the moment.";
            default:
                return "Check that it is running and that bullet.topology.metrics.collector.address is correct.";
        }
    }
}
