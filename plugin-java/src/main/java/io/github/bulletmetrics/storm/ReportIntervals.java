package io.github.bulletmetrics.storm;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The reporting intervals of a topology's metrics, and a check that they are not too long. */
final class ReportIntervals {
    /** From Storm 2.3 on a longer interval that has metrics of both of Storm's kinds is scheduled twice, s. */
    static final int LONGEST_SECONDS = 127;
    static final String BULLETS_MAPPING = "bullet.topology.metrics.built.in.emit.interval.mapping";
    private static final List<String> STORMS =
            Collections.unmodifiableList(Arrays.asList("topology.builtin.metrics.bucket.size.secs",
            Registration.V2_TICK_INTERVAL));
    private static final Logger LOG = LoggerFactory.getLogger(ReportIntervals.class);

    private ReportIntervals() {
    }

    /**
     * Logs which intervals are too long. They are the user's, so they stay as they are.
     *
     * @param setting returns the value of a setting in the running topology; null if it is unset.
     */
    static void warnOfTooLong(Function<String, Object> setting) {
        for (String name : STORMS) {
            warn(name, setting.apply(name));
        }
        Object mapping = setting.apply(BULLETS_MAPPING);
        if (mapping instanceof Map) {
            ((Map<?, ?>) mapping).forEach((metric, seconds) -> warn(BULLETS_MAPPING + " for " + metric, seconds));
        }
    }

    private static void warn(String name, Object seconds) {
        if (seconds instanceof Number && ((Number) seconds).longValue() > LONGEST_SECONDS) {
            LOG.warn("bullet-metrics: Reporting interval too long: {} is {} s. Storm 2.3 and later schedule intervals above {} s twice, so metrics are reported twice and at wrong times. Set it to {} s or less.", name, seconds, LONGEST_SECONDS, LONGEST_SECONDS);
        }
    }
}
