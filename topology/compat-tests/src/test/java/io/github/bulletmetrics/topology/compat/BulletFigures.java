package io.github.bulletmetrics.topology.compat;

import java.util.LinkedHashMap;
import java.util.Map;

/** What PromQL must answer about the metrics of a release of Bullet. */
final class BulletFigures {
    private BulletFigures() {
    }

    /** PromQL to the figure; to null where it only has to be there. */
    static Map<String, Double> of(Run run) {
        Map<String, Double> figures = new LinkedHashMap<>();
        BulletRelease bullet = run.setup().bullet();
        boolean whole = run.setup().whole();
        figures.put(gauge("bullet_active_queries", ""), whole ? 0
                : (double) SmallTopology.JOIN_TASKS * SmallBolts.ACTIVE);
        figures.put(total("bullet_created_queries_total"),
                run.truth().map(truth -> (double) truth.queries()).orElse(-1.0));
        figures.put(total("bullet_improper_queries_total"), whole ? 0 : everyLife(run, SmallBolts.IMPROPER));
        if (bullet.hasFilterLatency()) {
            figures.put("min(last_over_time(bullet_filter_latency_mean_seconds{%s}[1h]))", whole ? null
                    : SmallBolts.FILTER_LATENCY_MS / 1000);
            figures.put("max(last_over_time(bullet_filter_latency_mean_seconds{%s}[1h]))", whole ? null
                    : SmallBolts.FILTER_LATENCY_MS / 1000);
        }
        if (bullet.hasRateExceeded()) {
            figures.put(total("bullet_rate_exceeded_queries_total"), whole ? 0
                    : everyLife(run, SmallBolts.RATE_EXCEEDED));
        }
        if (bullet.hasDuplicated()) {
            figures.put(total("bullet_duplicated_queries_total"), whole ? null : everyLife(run, SmallBolts.DUPLICATED));
        }
        if (bullet.hasReplays()) {
            replays(figures, run, whole);
        }
        return figures;
    }

    private static void replays(Map<String, Double> figures, Run run, boolean whole) {
        figures.put(gauge("bullet_batched_queries", ",component=\"ReplayBolt\""), whole ? null
                : (double) SmallBolts.BATCHED);
        figures.put(gauge("bullet_active_replays", ",component=\"QuerySpout\",target=\"\""), whole ? null : 1.0);
        figures.put(gauge("bullet_active_replays", ",component=\"ReplayBolt\",target!=\"\""), whole ? null : 1.0);
        double created = SmallBolts.CREATED_REPLAYS.values().stream().mapToLong(Long::longValue).sum();
        figures.put(total("bullet_created_replays_total"), whole ? null : created * run.lives());
    }

    private static double everyLife(Run run, long ofATask) {
        return (double) ofATask * SmallTopology.JOIN_TASKS * run.lives();
    }

    private static String total(String name) {
        return "sum(last_over_time(" + name + "{%s}[1h]))";
    }

    private static String gauge(String name, String labels) {
        return "sum(last_over_time(" + name + "{%s" + labels + "}[1h]))";
    }
}
