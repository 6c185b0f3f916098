package io.github.bulletmetrics.topology.localstorm;

import java.util.Arrays;

/**
 * The DRPC server of a cluster.
 *
 * @param port of Thrift clients
 * @param invocationsPort of topologies
 * @param httpPort of HTTP clients
 * @param httpThreads threads of the HTTP port, each of which holds a call
 */
record DrpcServer(int port, int invocationsPort, int httpPort, int httpThreads) {
    /** Jetty's default, and so Storm's. */
    static final int DEFAULT_HTTP_THREADS = 200;
    /** What Jetty needs for itself, and some for calls. */
    static final int MIN_HTTP_THREADS = 8;

    /** As {@link #toString} wrote it. */
    static DrpcServer parse(String text) {
        int[] parts = Arrays.stream(text.split(",")).mapToInt(Integer::parseInt).toArray();
        return new DrpcServer(parts[0], parts[1], parts[2], parts[3]);
    }

    @Override
    public String toString() {
        return port + "," + invocationsPort + "," + httpPort + "," + httpThreads;
    }
}
