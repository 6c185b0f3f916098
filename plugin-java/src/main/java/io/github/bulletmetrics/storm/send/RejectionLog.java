package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.proto.v1.Rejection;
import io.github.bulletmetrics.storm.proto.v1.RejectionReason;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts the samples that the collector refused permanently, and logs each reason once. */
final class RejectionLog {
    private static final Logger LOG = LoggerFactory.getLogger(RejectionLog.class);

    private final Map<RejectionReason, Long> samples = new EnumMap<>(RejectionReason.class);
    /** The newest batch of which some were refused. */
    private long newest;

    /** Counts the rejections of new batches. A batch that two collectors reject counts once. */
    void rejected(List<Rejection> rejections) {
        long before = newest;
        for (Rejection rejection : rejections) {
            if (rejection.getSequence() <= before) {
                continue;
            }
            newest = Math.max(newest, rejection.getSequence());
            if (samples.merge(rejection.getReason(), rejection.getSamples(), Long::sum) == rejection.getSamples()) {
                LOG.warn("bullet-metrics: Collector rejected samples with {}, for example: {}. Further samples with this reason are only counted.",
                        rejection.getReason(),
                        rejection.getExample());
            }
        }
    }

    /** Samples refused, by reason. */
    Map<RejectionReason, Long> samples() {
        return samples;
    }
}
