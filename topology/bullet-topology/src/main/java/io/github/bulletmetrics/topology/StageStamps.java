package io.github.bulletmetrics.topology;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.record.BulletRecord;
import io.github.bulletmetrics.topology.source.SourceSettings;

import java.io.Serializable;

/**
 * Writes into a record when it reached the stages of its way through Bullet, for latency probes: "Bullet Received",
 * when the source emitted it, and "Bullet Filtered", when a filter bolt showed it to its queries; ms since 1970, by the
 * clock of the host where that was. Does nothing unless the fields are named ({@link SourceSettings}), so that by
 * default records are as Bullet has them.
 *
 * @param receivedField the field for the first, or null.
 * @param filteredField the field for the second, or null.
 */
record StageStamps(String receivedField, String filteredField) implements Serializable {
    /** Reads the settings, which {@link SourceSettings#from} checks. */
    static StageStamps from(BulletConfig config) {
        SourceSettings settings = SourceSettings.from(config);
        return new StageStamps(settings.receivedField(), settings.filteredField());
    }

    /** Stamps a record before any query sees it; {@code emittedMs} is null where the source does not say. */
    void stamp(BulletRecord<?> record, Long emittedMs, long nowMs) {
        if (receivedField != null && emittedMs != null) {
            record.setLong(receivedField, emittedMs);
        }
        if (filteredField != null) {
            record.setLong(filteredField, nowMs);
        }
    }
}
