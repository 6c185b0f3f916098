package io.github.bulletmetrics.topology.source;

import java.util.regex.Pattern;

/**
 * Records that a query can look for: {@link RecordFields#PROBE} has a known value, and they come at a known rate.
 *
 * @param value what the field holds: 1 to 64 of letters, digits and {@code . _ -}.
 * @param perSecond records a second over the whole topology, 0 to {@value #MOST_PER_SECOND}.
 */
public record Probe(String value, double perSecond) implements java.io.Serializable {
    /** The highest rate of a probe, records a second. */
    public static final double MOST_PER_SECOND = 100_000;
    private static final Pattern VALUE = Pattern.compile("[A-Za-z0-9._-]{1,64}");

    /**
     * Checks both.
     *
     * @throws IllegalArgumentException names which is wrong and what it must be.
     */
    public Probe {
        if (value == null || !VALUE.matcher(value).matches() || value.equals(RecordFields.NO_PROBE)) {
            throw new IllegalArgumentException("A probe's value must be 1 to 64 letters, digits or . _ - and not \""
                + RecordFields.NO_PROBE + "\", but is \"" + value + "\"");
        }
        if (!(perSecond >= 0 && perSecond <= MOST_PER_SECOND)) {
            throw new IllegalArgumentException("The rate of probe " + value + " must be 0 to " + MOST_PER_SECOND
                + " records a second, but is " + perSecond);
        }
    }
}
