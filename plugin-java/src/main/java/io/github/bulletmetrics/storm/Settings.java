package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.grpc.Security;
import io.github.bulletmetrics.storm.send.Address;
import io.github.bulletmetrics.storm.send.Spread;
import java.io.File;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/**
 * The plugin's settings, {@code bullet.topology.metrics.collector.*}. They come from Bullet's YAML, the consumer's
 * argument or Storm's configuration. A value may have the intended type or be its text form. Immutable.
 */
final class Settings {
    /** The prefix of all names. */
    static final String PREFIX = "bullet.topology.metrics.collector.";
    /** Collectors, "host:port", tried in order: a list, or texts with commas between. */
    static final String ADDRESS = PREFIX + "address";
    /** Which of several is taken: the first that is there, or one that the topology's name chooses. */
    static final String POLICY = PREFIX + "policy";
    /** Whether to speak TLS. */
    static final String TLS_ENABLED = PREFIX + "tls.enabled";
    /** PEM file with the certificates that the collector's must lead to; Java's own where unset. */
    static final String TLS_CA_FILE = PREFIX + "tls.ca.file";
    /** PEM file with the plugin's certificate, for mutual TLS. */
    static final String TLS_CERT_FILE = PREFIX + "tls.cert.file";
    /** PEM file (PKCS#8) with the key of that certificate. */
    static final String TLS_KEY_FILE = PREFIX + "tls.key.file";
    /** File with a bearer token. */
    static final String TOKEN_FILE = PREFIX + "token.file";
    /** Samples that are queued or under way at most; 15 bytes each, taken at the start. */
    static final String QUEUE_CAPACITY = PREFIX + "queue.capacity";
    /** Sources, metrics and map keys that are known at most; about 200 bytes each. */
    static final String SERIES_LIMIT = PREFIX + "series.limit";
    /** Tasks of the consumer (parallelism.hint of its registration). */
    static final String PARALLELISM = PREFIX + "parallelism";
    /** Storm's own queue before the consumer, in reports of tasks (max.retain.metric.tuples of its registration). */
    static final String RETAIN_TUPLES = PREFIX + "max.retain.metric.tuples";
    /** Whether workers sample their own process. */
    static final String SAMPLER_ENABLED = PREFIX + "sampler.enabled";

    /** Whether the latencies of records and queries are measured in Bullet's bolts. */
    static final String LATENCY_ENABLED = PREFIX + "latency.enabled";

    /** All names. */
    static final List<String> NAMES = Collections.unmodifiableList(Arrays.asList(ADDRESS, POLICY, TLS_ENABLED,
            TLS_CA_FILE, TLS_CERT_FILE, TLS_KEY_FILE, TOKEN_FILE, QUEUE_CAPACITY, SERIES_LIMIT, PARALLELISM,
            RETAIN_TUPLES, SAMPLER_ENABLED, LATENCY_ENABLED));

    /** Policies: the order of the addresses as it is set, or that of {@link Spread}. */
    static final String POLICY_FIRST = "first";
    static final String POLICY_SPREAD = "spread";

    static final String DEFAULT_ADDRESS = "127.0.0.1:" + Address.DEFAULT_PORT;
    /**
     * 7.5 MB: with the names of 1,162 executors and gRPC's buffers well within 32 MiB. That is how long a collector may
     * be away without loss: about 50 minutes for 50 tasks on 4 workers, which bring 170 samples a second at intervals
     * of 10 s; about 5 minutes for 1,162 tasks on 100 workers at the document's 60 s, of which two thirds are the
     * workers' own samples once a second.
     */
    static final int DEFAULT_QUEUE_CAPACITY = 500_000;
    /** 20 MB when full: well over what 1,162 executors with 25 numbers each need (36,000 names, 6.8 MB measured). */
    static final int DEFAULT_SERIES_LIMIT = 100_000;
    static final int DEFAULT_PARALLELISM = 1;
    /**
     * Storm's default of 100 is less than one tick of 455 executors; this is four ticks of 1,250 with two reports each.
     * The live reports of workers, five per tick, make it three ticks if each worker has ten executors.
     */
    static final int DEFAULT_RETAIN_TUPLES = 10_000;
    /** How long the consumer may be held up without loss, in ticks. */
    private static final int TICKS_RETAINED = 4;
    /** Reports of an executor: one for Storm's own interval and one for Bullet's. */
    private static final int REPORTS_PER_TICK = 2;
    private static final int MAX_RETAIN_TUPLES = 10_000_000;
    private static final int MAX_QUEUE_CAPACITY = 100_000_000;

    private final Map<String, Object> values;

    private Settings(Map<String, Object> values) {
        this.values = values;
    }

    /**
     * Takes the settings out of a configuration.
     *
     * @param configuration returns the value of a name; null if it has none.
     * @throws IllegalArgumentException when a value is wrong; the message names it and what is right.
     */
    static Settings from(Function<String, Object> configuration) {
        Map<String, Object> values = new LinkedHashMap<>();
        for (String name : NAMES) {
            Object value = configuration.apply(name);
            if (value != null) {
                values.put(name, value);
            }
        }
        Settings settings = new Settings(values);
        settings.validate();
        return settings;
    }

    private void validate() {
        addresses();
        spreads();
        security();
        queueCapacity();
        seriesLimit();
        parallelism();
        retainTuples(0);
        isSamplerEnabled();
        isLatencyEnabled();
    }

    /** The values that were set, for the argument of a registration. */
    Map<String, Object> asMap() {
        return Collections.unmodifiableMap(values);
    }

    /** The collectors in the order in which a topology's consumer tries them. */
    List<Address> addresses(String topology) {
        return spreads() ? Spread.order(topology, addresses()) : addresses();
    }

    private boolean spreads() {
        String policy = String.valueOf(values.getOrDefault(POLICY, POLICY_FIRST)).trim();
        if (!policy.equals(POLICY_FIRST) && !policy.equals(POLICY_SPREAD)) {
            throw new IllegalArgumentException(POLICY + " is '" + policy + "'; use " + POLICY_FIRST + " (the order of "
                    + ADDRESS + ") or " + POLICY_SPREAD + " (an order by the topology's name)");
        }
        return policy.equals(POLICY_SPREAD);
    }

    /** The collectors as they are set. */
    List<Address> addresses() {
        Object value = values.getOrDefault(ADDRESS, DEFAULT_ADDRESS);
        Collection<?> texts = value instanceof Collection ? (Collection<?>) value : Collections.singleton(value);
        List<Address> addresses = new ArrayList<>();
        for (Object text : texts) {
            if (!(text instanceof CharSequence)) {
                throw new IllegalArgumentException(ADDRESS + ": '" + text
                        + "' is not a string; use HOST:PORT, for example collector.example:4320");
            }
            try {
                for (String one : text.toString().split(",", -1)) {
                    addresses.add(Address.parse(one));
                }
            } catch (IllegalArgumentException wrong) {
                throw new IllegalArgumentException(ADDRESS + ": " + wrong.getMessage(), wrong);
            }
        }
        if (addresses.isEmpty()) {
            throw new IllegalArgumentException(ADDRESS
                    + " is an empty list; add at least one collector, or remove the setting to use " + DEFAULT_ADDRESS);
        }
        return addresses;
    }

    Security security() {
        try {
            return new Security(flag(TLS_ENABLED, false), file(TLS_CA_FILE), file(TLS_CERT_FILE), file(TLS_KEY_FILE),
                    file(TOKEN_FILE));
        } catch (IllegalArgumentException wrong) {
            throw new IllegalArgumentException(PREFIX + "*: " + wrong.getMessage(), wrong);
        }
    }

    int queueCapacity() {
        return number(QUEUE_CAPACITY, DEFAULT_QUEUE_CAPACITY, 1_000, MAX_QUEUE_CAPACITY);
    }

    int seriesLimit() {
        return number(SERIES_LIMIT, DEFAULT_SERIES_LIMIT, 1_000, MAX_QUEUE_CAPACITY);
    }

    int parallelism() {
        return number(PARALLELISM, DEFAULT_PARALLELISM, 1, 1_000);
    }

    /**
     * The value that was set; otherwise enough for {@link #TICKS_RETAINED} ticks.
     *
     * @param executors of the topology.
     */
    int retainTuples(int executors) {
        return number(RETAIN_TUPLES, Math.max(DEFAULT_RETAIN_TUPLES, executors * REPORTS_PER_TICK * TICKS_RETAINED), 1,
                MAX_RETAIN_TUPLES);
    }

    boolean isSamplerEnabled() {
        return flag(SAMPLER_ENABLED, true);
    }

    boolean isLatencyEnabled() {
        return flag(LATENCY_ENABLED, true);
    }

    private File file(String name) {
        Object value = values.get(name);
        if (value != null && !(value instanceof CharSequence)) {
            throw new IllegalArgumentException(name + " is '" + value + "'; use the path of a file");
        }
        return value == null || value.toString().trim().isEmpty() ? null : new File(value.toString().trim());
    }

    private boolean flag(String name, boolean byDefault) {
        Object value = values.get(name);
        if (value == null) {
            return byDefault;
        }
        String text = value.toString().trim();
        if (text.equalsIgnoreCase("true") || text.equalsIgnoreCase("false")) {
            return text.equalsIgnoreCase("true");
        }
        throw new IllegalArgumentException(name + " is '" + value + "'; use true or false");
    }

    private int number(String name, int byDefault, int least, int most) {
        Object value = values.get(name);
        if (value == null) {
            return byDefault;
        }
        try {
            long number = new BigDecimal(value.toString().trim()).longValueExact();
            if (number >= least && number <= most) {
                return (int) number;
            }
        } catch (ArithmeticException | NumberFormatException noInteger) {
            // Said below.
        }
        throw new IllegalArgumentException(name + " is '" + value + "'; use an integer from " + least + " to "
                + most);
    }
}
