package io.github.bulletmetrics.storm.noharm;

import io.github.bulletmetrics.storm.hostile.HostileCollector;

/** A hostile collector, until it is killed. */
public final class HostileMain {
    private static final long SLOW_MS = 1_000;

    private HostileMain() {
    }

    /**
     * Starts it.
     *
     * @param arguments one of {@link HostileCollector.Kind}.
     */
    public static void main(String[] arguments) throws Exception {
        HostileCollector collector = HostileCollector.start(HostileCollector.Kind.valueOf(arguments[0]), 0, SLOW_MS);
        System.out.println("hostile at 127.0.0.1:" + collector.port());
        Thread.currentThread().join();
    }
}
