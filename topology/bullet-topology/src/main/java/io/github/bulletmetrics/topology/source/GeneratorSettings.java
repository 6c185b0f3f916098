package io.github.bulletmetrics.topology.source;

import com.yahoo.bullet.common.BulletConfig;

import java.io.Serializable;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * The settings of the record generator, {@code bullet.topology.generator.*}.
 *
 * @param seed decides every record's values.
 * @param variants how many different records there are, apart from the fields that always differ.
 * @param batchSize the most records that one call of nextTuple emits.
 * @param maxLagMs a record later than this is left out and counted, so that catching up has an end.
 * @param control what to emit until the control URL states otherwise.
 * @param controlUrl where to ask what to emit, or null.
 * @param controlPollMs time between two questions.
 */
public record GeneratorSettings(long seed, int variants, int batchSize, long maxLagMs, SourceControl control,
                                URI controlUrl, long controlPollMs) implements Serializable {
    private static final String PREFIX = "bullet.topology.generator.";
    /** Decides every record's values; 42 by default. */
    public static final String SEED = PREFIX + "seed";
    /** How many different records there are; 256 by default, some 5 MB of heap a task. */
    public static final String VARIANTS = PREFIX + "variants";
    /** The most records that one call of nextTuple emits; 64 by default. */
    public static final String BATCH_SIZE = PREFIX + "batch.size";
    /** How late a record may be, ms; 10,000 by default. */
    public static final String MAX_LAG = PREFIX + "max.lag.ms";
    /** Background records a second over the whole topology; 1,000 by default. */
    public static final String RECORDS_PER_SECOND = PREFIX + "records.per.second";
    /** A list of {value: "probe-1", per.second: 1.0}; empty by default. */
    public static final String PROBES = PREFIX + "probes";
    /** Where to ask what to emit, the gateway's {@code /api/source/control}; none by default. */
    public static final String CONTROL_URL = PREFIX + "control.url";
    /** Time between two questions, ms; 1,000 by default. */
    public static final String CONTROL_POLL = PREFIX + "control.poll.interval.ms";

    /**
     * Reads the settings.
     *
     * @param config any Bullet configuration.
     * @return checked settings.
     * @throws IllegalArgumentException names the setting that is wrong and what it must be.
     */
    public static GeneratorSettings from(BulletConfig config) {
        return new GeneratorSettings(
            number(config, SEED, 42).longValue(),
            (int) atLeastOne(config, VARIANTS, 256),
            (int) atLeastOne(config, BATCH_SIZE, 64),
            atLeastOne(config, MAX_LAG, 10_000),
            new SourceControl(number(config, RECORDS_PER_SECOND, 1_000).doubleValue(), probes(config), 0),
            url(config), atLeastOne(config, CONTROL_POLL, 1_000));
    }

    private static Number number(BulletConfig config, String key, Number byDefault) {
        Object value = config.getOrDefault(key, byDefault);
        if (!(value instanceof Number)) {
            throw new IllegalArgumentException(key + " must be a number, but is " + value);
        }
        return (Number) value;
    }

    private static long atLeastOne(BulletConfig config, String key, long byDefault) {
        long value = number(config, key, byDefault).longValue();
        if (value < 1 || value > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(key + " must be 1 to " + Integer.MAX_VALUE + ", but is " + value);
        }
        return value;
    }

    private static List<Probe> probes(BulletConfig config) {
        Object value = config.getOrDefault(PROBES, List.of());
        List<Probe> probes = new ArrayList<>();
        try {
            for (Object entry : (List<?>) value) {
                Map<?, ?> probe = (Map<?, ?>) entry;
                probes.add(new Probe((String) probe.get("value"), ((Number) probe.get("per.second")).doubleValue()));
            }
        } catch (ClassCastException | NullPointerException e) {
            throw new IllegalArgumentException(
                PROBES + " must be a list such as [{value: \"probe-1\", per.second: 1.0}], but is " + value, e);
        }
        return probes;
    }

    private static URI url(BulletConfig config) {
        Object value = config.get(CONTROL_URL);
        if (value == null || value.toString().isEmpty()) {
            return null;
        }
        URI url = URI.create(value.toString());
        if (!"http".equals(url.getScheme()) || url.getHost() == null) {
            throw new IllegalArgumentException(
                CONTROL_URL + " must be a URL such as http://127.0.0.1:9901/api/source/control, but is " + value);
        }
        return url;
    }
}
