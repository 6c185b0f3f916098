package io.github.bulletmetrics.topology.gateway;

/**
 * The gateway's limits.
 *
 * @param maxQueries the most queries held at once.
 * @param queueCapacity the most messages that wait for the topology.
 * @param longestMs the longest that a query may run, ms: what a query without a duration gets.
 * @param graceMs how long after its end a query's result may come, ms.
 * @param streams the limits of streamed answers.
 */
public record GatewayOptions(int maxQueries, int queueCapacity, long longestMs, long graceMs, StreamOptions streams) {
    /**
     * Checks that all are positive.
     *
     * @throws IllegalArgumentException names the one that is not.
     */
    public GatewayOptions {
        atLeastOne("max-queries", maxQueries);
        atLeastOne("queue-capacity", queueCapacity);
        atLeastOne("longest-query-ms", longestMs);
        atLeastOne("grace-ms", graceMs);
    }

    /** With the defaults for streams. */
    GatewayOptions(int maxQueries, int queueCapacity, long longestMs, long graceMs) {
        this(maxQueries, queueCapacity, longestMs, graceMs, StreamOptions.defaults());
    }

    /**
     * 2,000 queries, more than the document's tests hold; a queue of 8,192, which takes all of them with their signals;
     * 10 minutes; and 10 s of grace, since a busy topology is what one measures.
     *
     * @return the defaults.
     */
    public static GatewayOptions defaults() {
        return new GatewayOptions(2_000, 8_192, 600_000, 10_000);
    }

    static void atLeastOne(String name, long value) {
        if (value < 1) {
            throw new IllegalArgumentException(name + " must be at least 1, but is " + value);
        }
    }
}
