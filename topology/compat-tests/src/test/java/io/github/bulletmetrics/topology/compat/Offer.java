package io.github.bulletmetrics.topology.compat;

import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Names of canonical metrics that not every row can have, with the reason. Any name that is not among them must come
 * from every row.
 *
 * @param names of the metrics.
 * @param by whether a row has them.
 * @param reason why others have not.
 */
record Offer(Pattern names, Predicate<Setup> by, String reason) {
    private static final List<Offer> ALL = List.of(
        new Offer("bullet_filter_latency_mean_.*", bulletFrom(0, 4, 3), "Bullet measures it from 0.4.3 on"),
        new Offer("bullet_rate_exceeded_queries_total", bulletFrom(0, 8, 0), "Bullet counts them from 0.8.0 on"),
        new Offer("bullet_duplicated_queries_total", bulletFrom(0, 8, 4), "Bullet counts them from 0.8.4 on"),
        new Offer("bullet_(batched_queries|active_replays|created_replays)(_.*)?", bulletFrom(1, 0, 0),
        "Bullet replays queries from 1.0.0 on"),
        new Offer("bullet_(filter_latency|query_engine_latency|query_created_latency|query_first_result_latency)_(seconds|negative_total)"
            + "|bullet_latency_hook_left_out_total|bullet_execute_(seconds|samples)_total", Setup::hasHook,
            "the latency hook needs Bullet's bolts"),
        new Offer("storm_send_queue_.*", before(2, 0, 0), "Storm 2 has no send queues"),
        new Offer("storm_skipped_calls_total", before(2, 0, 0),
        "Storm 1 counts the skipped calls of a spout, Storm 2 the skipped time"),
        new Offer("storm_skipped_seconds_total", from(2, 0, 0),
        "Storm 1 counts the skipped calls of a spout, Storm 2 the skipped time"),
        new Offer("storm_(receive|transfer)_queue_(dropped_messages_total|full_.*ratio|insert_failures_.*)|storm_reported_errors_total",
            from(2, 0, 0), "Storm reports it from 2.0 on"),
        new Offer("storm_memory_(free|unused)_.*", before(2, 2, 0),
        "Storm reports committed or limit minus used until 2.1"),
        new Offer("storm_memory_limit_.*", from(2, 2, 0).and(before(2, 6, 3)),
            "until 2.1 Storm reports only non-heap memory, whose limit is -1 and refused; from 2.6.3 on the total's is -1 too"),
        new Offer("storm_memory_(usage|pool)_.*|storm_worker_(daemon|deadlocked)_threads(_.*)?|storm_worker_threads_in_state(_.*)?",
            from(2, 2, 0), "Storm reports it from 2.2 on"),
        new Offer("storm_worker_threads(_min|_max)?", from(2, 0, 0), "Storm reports it from 2.0 on"),
        new Offer("storm_capacity_.*|storm_backpressure_.*|storm_heartbeat_calls_total", from(2, 3, 0),
            "Storm reports it from 2.3 on"),
        new Offer("storm_cgroup_.*", from(2, 3, 0),
        "Storm reports it from 2.3 on, before that only if the topology enables it"),
        new Offer("storm_worker_cpu_usage_.*|storm_worker_(peak|started)_threads.*", from(2, 6, 3),
        "Storm reports it from 2.6.3 on"));

    Offer(String names, Predicate<Setup> by, String reason) {
        this(Pattern.compile(names), by, reason);
    }

    private static Predicate<Setup> from(int... version) {
        return setup -> setup.stormFrom(version);
    }

    private static Predicate<Setup> before(int... version) {
        return setup -> !setup.stormFrom(version);
    }

    private static Predicate<Setup> bulletFrom(int... version) {
        return setup -> setup.bullet().from(version);
    }

    /** What is known of a name; none where it has to come from everywhere. */
    static Optional<Offer> of(String name) {
        return ALL.stream().filter(offer -> offer.names.matcher(name).matches()).findFirst();
    }
}
