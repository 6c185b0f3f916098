package io.github.bulletmetrics.storm;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;

/**
 * The number of executors that a Bullet topology will have, computed from its settings before it is submitted. It does
 * not count what other settings decide, such as the workers that the resource-aware scheduler chooses.
 */
final class TopologySize {
    private static final String BULLET = "bullet.topology.";
    /** Components that are in every topology, for which there is a parallelism. */
    private static final List<String> ALWAYS = Collections.unmodifiableList(Arrays.asList("query.spout", "filter.bolt",
            "join.bolt", "result.bolt",
            "loop.bolt"));
    private static final int TICK_SPOUTS = 1;
    /** No topology has more; a larger figure is a mistake. */
    private static final int MOST = 1_000_000;

    private TopologySize() {
    }

    /**
     * All executors, those of ackers and of each worker's system bolt included.
     *
     * @param setting returns the value of a setting of Bullet or Storm; null if it has none.
     */
    static int executors(Function<String, Object> setting) {
        int executors = TICK_SPOUTS;
        for (String component : ALWAYS) {
            executors += parallelism(setting, component);
        }
        if (isTrue(setting, "dsl.spout.enable")) {
            executors += parallelism(setting, "dsl.spout") + (isTrue(setting, "dsl.bolt.enable")
                    ? parallelism(setting, "dsl.bolt") : 0);
        } else {
            executors += parallelism(setting, "bullet.spout");
        }
        executors += isTrue(setting, "replay.enable") ? parallelism(setting, "replay.bolt") : 0;
        int workers = count(setting.apply("topology.workers"), 1);
        return executors + workers + count(setting.apply("topology.acker.executors"), workers);
    }

    private static int parallelism(Function<String, Object> setting, String component) {
        return count(setting.apply(BULLET + component + ".parallelism"), 1);
    }

    private static boolean isTrue(Function<String, Object> setting, String name) {
        return "true".equalsIgnoreCase(String.valueOf(setting.apply(BULLET + name)));
    }

    private static int count(Object value, int otherwise) {
        return value instanceof Number ? Math.min(MOST, Math.max(0, ((Number) value).intValue())) : otherwise;
    }
}
