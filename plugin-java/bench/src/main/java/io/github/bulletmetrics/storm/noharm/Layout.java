package io.github.bulletmetrics.storm.noharm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A topology of 1,162 executors, one task each, on 100 workers: the size of the Bullet document's Test 5. Its own table
 * of components is not among those that are kept (shared with the document's Tests 1 to 3 are the proportions of
 * spouts, filter bolts and ackers).
 */
final class Layout {
    static final int EXECUTORS = 1_162;
    static final int WORKERS = 100;
    static final String WORKERS_OWN = "__system";
    private static final Map<String, Integer> PARALLELISM = parallelism();

    private Layout() {
    }

    private static Map<String, Integer> parallelism() {
        Map<String, Integer> all = new TreeMap<>();
        all.put("DataSource", 164);
        all.put("FilterBolt", 328);
        all.put("JoinBolt", 5);
        all.put("QuerySpout", 2);
        all.put("TickSpout", 1);
        all.put("ResultBolt", 2);
        all.put("LoopBolt", 2);
        all.put("__acker", EXECUTORS - 164 - 328 - 5 - 2 - 1 - 2 - 2);
        return all;
    }

    /** The component of each task, from 1. */
    static Map<Integer, String> components() {
        Map<Integer, String> components = new HashMap<>();
        PARALLELISM.forEach((component, count) -> {
            for (int i = 0; i < count; i++) {
                components.put(components.size() + 1, component);
            }
        });
        return components;
    }

    /** The tasks of a worker. Storm deals them out in turn. */
    static List<Integer> tasks(int worker) {
        List<Integer> tasks = new ArrayList<>();
        for (int task = worker + 1; task <= EXECUTORS; task += WORKERS) {
            tasks.add(task);
        }
        return tasks;
    }

    static String host(int worker) {
        return "worker-" + worker / 4 + ".storm.example";
    }

    static int port(int worker) {
        return 6700 + worker % 4;
    }

    /** How many peers' connections a worker reports. */
    static Map<String, Object> connections(int worker) {
        Map<String, Object> enqueued = new HashMap<>();
        for (int peer = 0; peer < WORKERS; peer++) {
            if (peer != worker) {
                enqueued.put("/10.0.0." + peer / 4 + ":" + (30_000 + peer), 1_300L);
            }
        }
        Map<String, Object> received = new HashMap<>();
        received.put("dequeuedMessages", 0);
        received.put("enqueued", enqueued);
        return Collections.unmodifiableMap(received);
    }

    static List<String> bulletsBolts() {
        return Arrays.asList("FilterBolt", "JoinBolt");
    }
}
