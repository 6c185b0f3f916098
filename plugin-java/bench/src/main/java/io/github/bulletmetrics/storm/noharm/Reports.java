package io.github.bulletmetrics.storm.noharm;

import io.github.bulletmetrics.storm.flatten.Flattener;
import io.github.bulletmetrics.storm.latency.LatencyHistogram;
import io.github.bulletmetrics.storm.latency.LatencyPack;
import io.github.bulletmetrics.storm.sampler.Packs;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;
import org.apache.storm.metric.api.IMetricsConsumer.TaskInfo;

/** What the tasks of a worker hand over, every object of it new, as Kryo makes them in the consumer's worker. */
final class Reports {
    private static final String ACTIVE_QUERIES = "bullet_active_queries";
    private static final int BUSY_MS = 40;

    private final Shapes shapes;
    private final Intervals intervals;
    private final boolean attachesToEveryTick;
    private final Map<Integer, String> components = Layout.components();
    private final LatencyHistogram latencies = new LatencyHistogram();
    private final LatencyPack.Writer hook = new LatencyPack.Writer().add("bullet_filter_latency_seconds", "",
            latencies);

    /** One call of handleDataPoints. */
    static final class Report {
        final TaskInfo task;
        final List<DataPoint> points;

        Report(TaskInfo task, List<DataPoint> points) {
            this.task = task;
            this.points = points;
        }
    }

    /**
     * @param attachesToEveryTick whether V2 metrics come with every tick, as in Storm 2.2.
     */
    Reports(Shapes shapes, Intervals intervals, boolean attachesToEveryTick) {
        this.shapes = shapes;
        this.intervals = intervals;
        this.attachesToEveryTick = attachesToEveryTick;
        for (int ms = 1; ms < BUSY_MS; ms++) {
            latencies.record(ms);
        }
    }

    /** Of a worker's tick at the long interval. */
    List<Report> tick(int worker, long seconds) {
        List<Report> reports = new ArrayList<>();
        for (int task : Layout.tasks(worker)) {
            String component = components.get(task);
            Map<String, Object> points = new LinkedHashMap<>(shapes.of(component));
            if (intervals.activeQueriesSeconds != intervals.seconds) {
                points.remove(ACTIVE_QUERIES);
            }
            if (Layout.bulletsBolts().contains(component)) {
                points.put(Flattener.LATENCY_METRIC, hook.write());
                points.put("bullet-metrics.latency-hook", Collections.singletonMap("failed", 0L));
            }
            reports.add(report(worker, component, task, seconds, intervals.seconds, points));
        }
        Map<String, Object> own = new LinkedHashMap<>(shapes.of(Layout.WORKERS_OWN));
        own.put("__recv-iconnection", Layout.connections(worker));
        own.put(Flattener.SAMPLER_METRIC, Packs.upTo(seconds * 1_000 - 100, intervals.seconds));
        reports.add(report(worker, Layout.WORKERS_OWN, -1, seconds, intervals.seconds, own));
        return reports;
    }

    /** Of a worker's tick at the short interval, where that is another. */
    List<Report> shortTick(int worker, long seconds) {
        List<Report> reports = new ArrayList<>();
        for (int task : Layout.tasks(worker)) {
            if (components.get(task).equals("JoinBolt") && intervals.activeQueriesSeconds != intervals.seconds) {
                Map<String, Object> points = new LinkedHashMap<>();
                shapes.of("JoinBolt").forEach((name, value) -> {
                    if (name.equals(ACTIVE_QUERIES) || attachesToEveryTick && !name.startsWith("__")
                            && !Shapes.isBullets(name)) {
                        points.put(name, value);
                    }
                });
                reports.add(report(worker, "JoinBolt", task, seconds, intervals.activeQueriesSeconds, points));
            }
        }
        return reports;
    }

    private static Report report(int worker, String component, int task, long seconds, int interval,
            Map<String, Object> points) {
        List<DataPoint> fresh = new ArrayList<>(points.size());
        points.forEach((name, value) -> fresh.add(new DataPoint(text(name), fresh(value))));
        return new Report(new TaskInfo(text(Layout.host(worker)), Layout.port(worker), text(component), task, seconds,
                interval), fresh);
    }

    private static Object fresh(Object value) {
        if (!(value instanceof Map)) {
            return value;
        }
        Map<String, Object> map = new HashMap<>();
        ((Map<?, ?>) value).forEach((key, inner) -> map.put(text(key.toString()), fresh(inner)));
        return map;
    }

    /** A new String, whose hash is yet to be computed. */
    private static String text(String text) {
        return new String(text.toCharArray());
    }

    /** Numbers in a report; of a sampler's pack its samples' values. */
    int numbers(Report report) {
        int numbers = 0;
        for (DataPoint point : report.points) {
            numbers += point.value instanceof byte[] ? point.name.equals(Flattener.SAMPLER_METRIC)
                    ? intervals.seconds * 10 : 1 : Shapes.numbers(point.value);
        }
        return numbers;
    }
}
