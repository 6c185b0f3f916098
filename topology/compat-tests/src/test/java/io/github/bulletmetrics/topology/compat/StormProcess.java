package io.github.bulletmetrics.topology.compat;

import org.apache.storm.Config;

import java.io.OutputStream;
import java.util.List;
import java.util.Map;

/**
 * A Storm with one topology, in a process of its own on that Storm's class path. Prints {@link Truth} and runs until
 * its stdin ends, or it is killed.
 */
public final class StormProcess {
    private static final long GARBAGE_INTERVAL_MS = 500;
    private static final int GARBAGE_BYTES = 16 << 20;
    private static final int GARBAGE_PARTS = 64;
    private static final int FULL_COLLECTION_EVERY = 10;

    private static byte[] garbage;

    private StormProcess() {
    }

    /**
     * Runs.
     *
     * @param arguments the topology's name, "small" or "whole", the {@link Registration}, the release of Bullet, and
     *     the collector's address.
     */
    public static void main(String[] arguments) {
        try {
            Map<String, Object> settings = Map.of("bullet.topology.metrics.collector.address", List.of(arguments[4]));
            if (arguments[1].equals("whole")) {
                WholeBullet.run(arguments[0], settings);
            } else {
                small(arguments[0], Registration.valueOf(arguments[2]), new BulletRelease(arguments[3]), settings);
            }
            makeGarbage();
            System.in.transferTo(OutputStream.nullOutputStream());
            System.exit(0);
        } catch (Exception | LinkageError e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    private static void small(String name, Registration registration, BulletRelease bullet,
            Map<String, Object> settings)
            throws ReflectiveOperationException {
        Config storm = new Config();
        intervals().forEach(storm::put);
        registration.register(storm, settings);
        System.out.println(new Truth(SmallTopology.RECORDS, SmallTopology.QUERIES).toLine());
        LocalStorm.run(name, storm, SmallTopology.of(bullet));
    }

    /** Short, so that the run is; and every tuple is counted, so that counts can be held to the truth. */
    static Map<String, Object> intervals() {
        return Map.of("topology.builtin.metrics.bucket.size.secs", SmallTopology.INTERVAL_SECONDS,
            "topology.v2.metrics.tick.interval.seconds", SmallTopology.INTERVAL_SECONDS, "topology.stats.sample.rate",
            1.0, "topology.workers", 1,
            "topology.acker.executors", 1);
    }

    /** Makes both of G1's collectors work, so that each has something to report. */
    private static void makeGarbage() {
        Thread thread = new Thread(() -> {
            for (int i = 0;; i++) {
                for (int part = 0; part < GARBAGE_PARTS; part++) {
                    garbage = new byte[GARBAGE_BYTES / GARBAGE_PARTS];
                }
                if (i % FULL_COLLECTION_EVERY == 0) {
                    System.gc();
                }
                try {
                    Thread.sleep(GARBAGE_INTERVAL_MS);
                } catch (InterruptedException ended) {
                    return;
                }
            }
        }, "garbage");
        thread.setDaemon(true);
        thread.start();
    }
}
