package io.github.bulletmetrics.topology.cluster;

import com.google.gson.JsonElement;
import io.github.bulletmetrics.topology.cluster.Capture.Point;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** What two captures are compared by, whatever Storm they come from. */
final class CaptureComparison {
    /** The captures of real Bullet. */
    static final Path RECORDED = Path.of(System.getProperty("capture.folder", "no capture.folder given"));
    /** Counted by every topology that has records and answers queries. */
    static final List<String> COUNTED_WITH_QUERIES = List.of(
        "DataSource __emit-count-default", "DataSource __ack-count-default", "DataSource __complete-latency-default",
        "TickSpout __emit-count-default",
        "QuerySpout __emit-count-default", "QuerySpout __ack-count-default", "QuerySpout __complete-latency-default",
        "QuerySpout __emit-count-metadata", "QuerySpout __ack-count-metadata",
        "FilterBolt __execute-count-DataSource:default", "FilterBolt __ack-count-DataSource:default",
        "FilterBolt __execute-count-QuerySpout:default", "FilterBolt __execute-count-QuerySpout:metadata",
        "FilterBolt __execute-count-TickSpout:default", "FilterBolt __emit-count-default",
        "JoinBolt __execute-count-QuerySpout:default", "JoinBolt __execute-count-QuerySpout:metadata",
        "JoinBolt __execute-count-FilterBolt:default", "JoinBolt __execute-count-TickSpout:default",
        "JoinBolt __emit-count-default", "JoinBolt __emit-count-feedback",
        "ResultBolt __execute-count-JoinBolt:default", "LoopBolt __execute-count-JoinBolt:feedback");
    private static final Set<String> BY_STREAM = Set.of("__emit-count", "__transfer-count", "__ack-count",
            "__fail-count",
        "__execute-count", "__execute-latency", "__process-latency", "__complete-latency");

    private CaptureComparison() {
    }

    static Capture recorded(String file) {
        return Capture.read(RECORDED.resolve(file));
    }

    /** Component, name and Java type of each of Bullet's own metrics. */
    static Set<String> bulletMetrics(Capture capture) {
        return capture.points().stream().filter(Point::isBullets)
            .map(point -> point.component() + " " + point.name() + " " + point.type()).collect(Collectors.toSet());
    }

    /** The names of all other metrics, without what depends on the topology or the machine. */
    static Set<String> otherMetrics(Capture capture) {
        return capture.points().stream().filter(point -> !point.isBullets())
            .map(point -> MetricNames.fold(point.name())).collect(Collectors.toSet());
    }

    /**
     * What was counted last on each stream, summed over tasks: {@code FilterBolt __execute-count-TickSpout:default}.
     * Storm 2.2 gives a map from the stream to its count, Storm 2.8 a metric for each stream.
     */
    static Map<String, Double> streamCounts(Capture capture) {
        Map<String, Map<Integer, Double>> byTask = new TreeMap<>();
        for (Point point : capture.points()) {
            if (BY_STREAM.contains(point.name()) && point.value().isJsonObject()) {
                for (Map.Entry<String, JsonElement> stream : point.value().getAsJsonObject().entrySet()) {
                    put(byTask, point, point.name() + "-" + stream.getKey(), stream.getValue());
                }
            } else if (BY_STREAM.stream().anyMatch(name -> point.name().startsWith(name + "-"))) {
                put(byTask, point, point.name(), point.value());
            }
        }
        Map<String, Double> sums = new TreeMap<>();
        byTask.forEach((name, tasks) -> sums.put(name, tasks.values().stream().mapToDouble(Double::doubleValue).sum()));
        return sums;
    }

    private static void put(Map<String, Map<Integer, Double>> byTask, Point point, String name, JsonElement value) {
        byTask.computeIfAbsent(point.component() + " " + name, key -> new TreeMap<>())
                .put(point.task(), value.getAsDouble());
    }

    /**
     * The streams of Bullet's own that are counted in a capture: without Storm's, and without rates derived from
     * counts.
     */
    static Set<String> bulletStreams(Capture capture) {
        return streamCounts(capture).keySet().stream()
            .filter(name -> !name.startsWith("__") && !name.contains("-__") && !name.endsWith(".m1_rate"))
            .collect(Collectors.toCollection(TreeSet::new));
    }
}
