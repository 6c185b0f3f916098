package io.github.bulletmetrics.topology.source;

import com.yahoo.bullet.common.BulletConfig;

import java.io.Serializable;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The settings of record sources that are ours and not Bullet's, {@code bullet.topology.source.*}.
 *
 * @param samplingPercentage how many of a hundred messages that were read go on, above 0 to 100.
 * @param timestampField the field of a record that takes the broker's timestamp, or null for none.
 * @param receivedField the field of a record that takes when Bullet got it, or null for none.
 * @param filteredField the field of a record that takes when a filter bolt showed it to the queries, or null for none.
 * @param metrics whether the {@code bullet_source_*} metrics are registered beside Bullet's own.
 */
public record SourceSettings(double samplingPercentage, String timestampField, String receivedField,
        String filteredField,
                             boolean metrics) implements Serializable {
    /** What every name starts with. */
    public static final String PREFIX = "bullet.topology.source.";
    /** How many of a hundred messages go on; 100.0 by default. */
    public static final String SAMPLING_PERCENTAGE = PREFIX + "sampling.percentage";
    /** The field that takes the broker's timestamp, ms since 1970; none by default. */
    public static final String TIMESTAMP_FIELD = PREFIX + "timestamp.field";
    /** The field that takes when the source emitted the record into the topology, ms since 1970; none by default. */
    public static final String RECEIVED_FIELD = PREFIX + "received.field";
    /** The field that takes when a filter bolt showed the record to its queries, ms since 1970; none by default. */
    public static final String FILTERED_FIELD = PREFIX + "filtered.field";
    /**
     * Whether sources have metrics; true by default. They follow {@code bullet.topology.metrics.built.in.enable} too.
     */
    public static final String METRICS_ENABLE = PREFIX + "metrics.enable";

    private static final double ALL = 100.0;

    /**
     * Reads the settings.
     *
     * @param config any Bullet configuration.
     * @return checked settings.
     * @throws IllegalArgumentException names the setting that is wrong and what it must be.
     */
    public static SourceSettings from(BulletConfig config) {
        refuseUnknown(config);
        return new SourceSettings(percentage(config), field(config, TIMESTAMP_FIELD), field(config, RECEIVED_FIELD),
                                  field(config, FILTERED_FIELD), flag(config));
    }

    /** A slip here would go unnoticed: every message would go on, with no timestamp. */
    private static void refuseUnknown(BulletConfig config) {
        Set<String> known = new TreeSet<>(Set.of(SAMPLING_PERCENTAGE, TIMESTAMP_FIELD, RECEIVED_FIELD, FILTERED_FIELD,
                                                     METRICS_ENABLE));
        for (String name : config.getAllWithPrefix(Optional.empty(), PREFIX, false).keySet()) {
            if (!known.contains(name)) {
                throw new IllegalArgumentException("Unknown setting " + name + "; known settings: " + known);
            }
        }
    }

    private static double percentage(BulletConfig config) {
        Object value = config.getOrDefault(SAMPLING_PERCENTAGE, ALL);
        if (value instanceof Number number && number.doubleValue() > 0 && number.doubleValue() <= ALL) {
            return number.doubleValue();
        }
        throw new IllegalArgumentException(SAMPLING_PERCENTAGE + " must be a number above 0 and up to 100, but is "
                + value);
    }

    private static String field(BulletConfig config, String setting) {
        Object value = config.get(setting);
        if (value == null || value instanceof String name && !name.isBlank() && !name.contains(".")) {
            return (String) value;
        }
        throw new IllegalArgumentException(setting + " must be the name of a field, without dots, but is " + value);
    }

    private static boolean flag(BulletConfig config) {
        Object value = config.getOrDefault(METRICS_ENABLE, true);
        if (value instanceof Boolean flag) {
            return flag;
        }
        throw new IllegalArgumentException(METRICS_ENABLE + " must be true or false, but is " + value);
    }
}
