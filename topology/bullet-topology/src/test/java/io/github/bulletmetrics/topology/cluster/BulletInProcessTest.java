package io.github.bulletmetrics.topology.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.bulletmetrics.topology.cluster.Capture.Point;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The whole topology, gateway and source included, and what a metrics consumer gets of it. */
@Tag("slow")
class BulletInProcessTest {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final String BACKGROUND_AND_RAW =
        "{\"records_per_second\": 200, \"probes\": [{\"value\": \"raw\", \"per_second\": 50}]}";
    private static final String RAW =
        "SELECT probe, probe_sequence FROM STREAM(30000, TIME) WHERE probe = 'raw' LIMIT 10";

    @TempDir
    static Path folder;
    static BulletInProcess bullet;

    @BeforeAll
    static void start() throws Exception {
        bullet = new BulletInProcess(folder, Map.of(
            "bullet.topology.metrics.built.in.emit.interval.mapping", Map.of("default", 2),
            "bullet.topology.custom.topology.v2.metrics.tick.interval.seconds", 5,
            "bullet.topology.custom.topology.builtin.metrics.bucket.size.secs", 5,
            "bullet.topology.custom.topology.stats.sample.rate", 1.0,
            "bullet.query.aggregation.raw.max.size", 500,
            "bullet.topology.generator.records.per.second", 100));
        bullet.control(BACKGROUND_AND_RAW);
        await("both source tasks to follow the control").atMost(LONG)
            .until(() -> bullet.get("/api/source/status").get("following").getAsInt() == 2);
    }

    @AfterAll
    static void stop() throws Exception {
        if (bullet != null) {
            bullet.stop();
        }
    }

    @Test
    void aRawQueryGetsItsTenRecords() throws Exception {
        HttpResponse<String> response = bullet.query(RAW).get();

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(BulletInProcess.json(response).getAsJsonArray("records")).hasSize(10)
            .allMatch(record -> record.getAsJsonObject().get("probe").getAsString().equals("raw"));
        assertThat(sequences(response)).hasSize(10);
    }

    private static TreeSet<Long> sequences(HttpResponse<String> response) {
        TreeSet<Long> sequences = new TreeSet<>();
        for (JsonElement element : BulletInProcess.json(response).getAsJsonArray("records")) {
            sequences.add(element.getAsJsonObject().get("probe_sequence").getAsLong());
        }
        return sequences;
    }

    /** The filter bolts begin and end a query not quite together, so its first and its last second do not count. */
    @Test
    void aQueryMissesNoRecordOfAProbe() throws Exception {
        HttpResponse<String> response =
            bullet.query("SELECT probe_sequence FROM STREAM(5000, TIME) WHERE probe = 'raw' LIMIT 500").get();

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        TreeSet<Long> sequences = sequences(response);
        NavigableSet<Long> middle = sequences.subSet(sequences.first() + 50, true, sequences.last() - 50, true);
        assertThat(middle).hasSizeGreaterThan(100);
        assertThat(middle.last() - middle.first() + 1).isEqualTo(middle.size());
    }

    @Test
    void aBadQueryGetsTheErrorInBulletsShape() throws Exception {
        HttpResponse<String> response = bullet.query("SELECT * FROM STREAM(1000, TIME) WHERE probe = ").get();

        assertThat(response.statusCode()).isEqualTo(400);
        JsonObject result = BulletInProcess.json(response);
        assertThat(result.getAsJsonArray("records")).isEmpty();
        JsonObject error = result.getAsJsonObject("meta").getAsJsonArray("errors").get(0).getAsJsonObject();
        assertThat(error.get("error").getAsString()).isNotEmpty();
        assertThat(error.getAsJsonArray("resolutions")).isNotEmpty();
    }

    @Test
    void queriesThatMatchNothingAreActiveInTwoSuccessiveTicks() throws Exception {
        int held = 25;
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        for (int i = 0; i < held; i++) {
            answers.add(bullet.query("SELECT * FROM STREAM(15000, TIME) WHERE probe = 'nothing' LIMIT 10"));
        }

        await("the sum of bullet_active_queries").atMost(LONG)
            .until(() -> List.of((long) held, (long) held).equals(lastTwoSums("bullet_active_queries")));
        assertThat(answers).noneMatch(CompletableFuture::isDone);
        assertThat(bullet.get("/api/stats").get("active").getAsInt()).isEqualTo(held);

        for (CompletableFuture<HttpResponse<String>> answer : answers) {
            assertThat(answer.get().statusCode()).isEqualTo(200);
            assertThat(BulletInProcess.json(answer.get()).getAsJsonArray("records")).isEmpty();
        }
        await("no query to be active any more").atMost(LONG)
            .until(() -> List.of(0L, 0L).equals(lastTwoSums("bullet_active_queries")));
    }

    /** The sums over tasks of a metric's last two ticks; empty while there are not two of each task. */
    private static List<Long> lastTwoSums(String name) {
        Map<Integer, List<Long>> byTask = bullet.capture().points().stream().filter(point -> point.name().equals(name))
            .collect(Collectors.groupingBy(Point::task, Collectors.mapping(point -> point.value().getAsLong(),
            Collectors.toList())));
        if (byTask.size() < 2 || byTask.values().stream().anyMatch(values -> values.size() < 2)) {
            return List.of();
        }
        return Stream.of(2, 1).map(fromEnd -> byTask.values().stream()
            .mapToLong(values -> values.get(values.size() - fromEnd)).sum()).toList();
    }

    @Test
    void bulletsMetricsAreThoseOfTheRecordedCapture() {
        Set<String> recorded = CaptureComparison.bulletMetrics(CaptureComparison.recorded("capture-storm-2.8.4.jsonl"));
        assertThat(recorded).hasSize(7);

        await("every bullet_* metric").atMost(LONG).untilAsserted(
            () -> assertThat(CaptureComparison.bulletMetrics(bullet.capture())).isEqualTo(recorded));
    }

    @Test
    void everyOtherMetricIsInARecordedCapture() throws Exception {
        Set<String> recorded = new HashSet<>(
            CaptureComparison.otherMetrics(CaptureComparison.recorded("capture-storm-2.8.4.jsonl")));
        recorded.addAll(CaptureComparison.otherMetrics(CaptureComparison.recorded("capture-cluster-2.8.4.jsonl")));
        bullet.query(RAW).get();

        await("the metrics of the worker").atMost(LONG)
            .until(() -> CaptureComparison.otherMetrics(bullet.capture()).contains("memory.heap.used"));
        await("the metrics of Storm's bolts").atMost(LONG)
            .until(() -> CaptureComparison.otherMetrics(bullet.capture()).contains("__execute-latency-STREAM"));
        assertThat(recorded).containsAll(CaptureComparison.otherMetrics(bullet.capture()));
    }

    @Test
    void everyStreamThatAQueryUsesHasItsCounts() throws Exception {
        bullet.query(RAW).get();

        for (String expected : CaptureComparison.COUNTED_WITH_QUERIES) {
            await(expected).atMost(LONG)
                .until(() -> CaptureComparison.streamCounts(bullet.capture()).getOrDefault(expected, 0.0) > 0);
        }
        assertThat(CaptureComparison.bulletStreams(bullet.capture()))
            .containsAll(CaptureComparison.bulletStreams(CaptureComparison.recorded("capture-storm-2.8.4.jsonl")));
    }
}
