package io.github.bulletmetrics.topology.cluster;

import java.io.OutputStream;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * The topology on Storm's cluster as a process of its own, for a class path with another Storm. Answers one query after
 * another and captures into a folder, until its stdin ends; then stops all and exits with 0, or with 1 if anything
 * failed.
 */
public final class BulletProcess {
    private static final String[] QUERIES = {
        "SELECT probe, probe_sequence FROM STREAM(10000, TIME) WHERE probe = 'raw' LIMIT 10",
        "SELECT probe, COUNT(*) FROM STREAM(1000, TIME) GROUP BY probe",
    };

    private BulletProcess() {
    }

    /**
     * Runs until stdin ends.
     *
     * @param arguments the folder for the capture.
     */
    public static void main(String[] arguments) {
        try {
            run(Path.of(arguments[0]));
            System.exit(0);
        } catch (Exception | LinkageError e) {
            e.printStackTrace();
            System.exit(1);
        }
    }

    private static void run(Path folder) throws Exception {
        BulletInProcess bullet = new BulletInProcess(folder, Map.of(
            "bullet.topology.metrics.built.in.emit.interval.mapping", Map.of("default", 2),
            "bullet.topology.custom.topology.v2.metrics.tick.interval.seconds", 5,
            "bullet.topology.custom.topology.builtin.metrics.bucket.size.secs", 5,
            "bullet.topology.custom.topology.stats.sample.rate", 1.0,
            "bullet.topology.generator.records.per.second", 100));
        bullet.control("{\"records_per_second\": 100, \"probes\": [{\"value\": \"raw\", \"per_second\": 50}]}");
        AtomicBoolean stopped = new AtomicBoolean();
        Thread queries = new Thread(() -> query(bullet, stopped), "queries");
        queries.start();
        System.in.transferTo(OutputStream.nullOutputStream());
        stopped.set(true);
        queries.join();
        bullet.stop();
    }

    private static void query(BulletInProcess bullet, AtomicBoolean stopped) {
        for (int i = 0; !stopped.get(); i++) {
            String bql = QUERIES[i % QUERIES.length];
            int status = bullet.query(bql).join().statusCode();
            System.out.println(status + " " + bql);
        }
    }
}
