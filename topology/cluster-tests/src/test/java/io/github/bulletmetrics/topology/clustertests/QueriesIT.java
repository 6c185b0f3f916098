package io.github.bulletmetrics.topology.clustertests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.github.bulletmetrics.topology.clustertests.Oracle.Stretch;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Queries of every kind over HTTP, on two workers. Each asks for a stretch of the probe that lies well inside its own
 * life, so that it must see all of its records, and is compared with {@link Oracle}: the four filter bolts and the join
 * bolt together must give what one Querier gives.
 */
@Tag("slow")
@ExtendWith(ClusterExtension.class)
class QueriesIT {
    private static final double PER_SECOND = 25;
    private static final Duration LONG = Duration.ofSeconds(300);
    /** A query starts in every bolt within this, and has this to spare after its last record, on a busy machine too. */
    private static final long SLACK_MS = 2_500;
    private static final long STRETCH_MS = 2_000;
    private static final long DURATION_MS = SLACK_MS + STRETCH_MS + SLACK_MS;
    private static final Map<String, Object> SETTINGS = Map.of(
        "bullet.query.aggregation.raw.max.size", 500,
        "bullet.query.rate.limit.max.emit.count", 8,
        "bullet.query.rate.limit.time.interval", 100,
        "bullet.topology.metrics.built.in.enable", true,
        "bullet.topology.metrics.built.in.emit.interval.mapping", Map.of("default", 2));

    private static Bullet bullet;
    private static Oracle oracle;
    private static Path captures;

    @BeforeAll
    static void start(StormCluster cluster) throws Exception {
        captures = Files.createDirectories(cluster.folder().resolve("captures"));
        Map<String, Object> settings = new LinkedHashMap<>(SETTINGS);
        settings.put("topology.metrics.consumer.register", List.of(Map.of(
            "class", "io.github.bulletmetrics.topology.capture.CaptureConsumer", "parallelism.hint", 1,
            "argument", Map.of("file", captures.resolve("metrics-%d.jsonl").toString()))));
        bullet = Bullet.start(cluster, "queries", settings);
        oracle = new Oracle(SETTINGS, "steady", PER_SECOND);
        bullet.emit("{\"records_per_second\": 50, \"probes\": [{\"value\": \"steady\", \"per_second\": " + PER_SECOND
                + "}]}");
        assertThat(bullet.workers()).hasSize(2);
    }

    @AfterAll
    static void stop() throws Exception {
        if (bullet != null) {
            bullet.close();
        }
    }

    @AfterEach
    void theAccountsBalance() throws Exception {
        JsonObject stats = bullet.get("/api/stats");
        long accounted = List.of("rejected", "refused", "returned", "failed", "timed_out", "stopped", "abandoned",
                "active").stream()
            .mapToLong(name -> stats.get(name).getAsLong()).sum();
        assertThat(stats.get("submitted").getAsLong()).as(stats.toString()).isEqualTo(accounted);
        assertThat(stats.get("timed_out").getAsLong()).as(stats.toString()).isZero();
    }

    /** They wait together, so that all of them take the time of one. */
    @Test
    void everyKindOfQueryAnswersAsBulletCoreSays() throws Exception {
        Stretch stretch = oracle.stretch(SLACK_MS, SLACK_MS + STRETCH_MS);
        Map<String, CompletableFuture<HttpResponse<String>>> answers = new LinkedHashMap<>();
        for (String query : List.of(
            "SELECT record_id, probe_sequence, probe_due_us, duration_ms, country, tags, prices, items FROM %s LIMIT 500",
            "SELECT probe_sequence AS n, duration_ms / 1000 AS s FROM %s AND duration_ms < 50000 LIMIT 500",
            "SELECT probe_sequence FROM %s ORDER BY duration_ms DESC LIMIT 500",
            "SELECT COUNT(*), SUM(duration_ms), MIN(duration_ms), MAX(duration_ms), AVG(duration_ms) FROM %s",
            "SELECT city, COUNT(*), SUM(duration_ms), MIN(duration_ms), MAX(duration_ms), AVG(duration_ms) FROM %s GROUP BY city LIMIT 500",
            "SELECT browser, os, SUM(counts.a) AS a, AVG(prices.b) AS b FROM %s GROUP BY browser, os LIMIT 500",
            "SELECT probe, COUNT(*) AS n FROM %s GROUP BY probe HAVING n > 10",
            "SELECT DISTINCT device FROM %s LIMIT 500",
            "SELECT COUNT(DISTINCT country, city) AS places FROM %s",
            "SELECT COUNT(DISTINCT record_id) FROM %s",
            "SELECT QUANTILE(duration_ms, LINEAR, 11) FROM %s",
            "SELECT QUANTILE(duration_ms, MANUAL, 0.01, 0.5, 0.99) FROM %s",
            "SELECT FREQ(duration_ms, REGION, 0, 100000, 10000) FROM %s",
            "SELECT CUMFREQ(duration_ms, REGION, 0, 100000, 10000) FROM %s",
            "SELECT TOP(500, vendor) FROM %s",
            "SELECT TOP(500, 1, event, action) AS times FROM %s",
            "SELECT COUNT(*) AS cities FROM (SELECT city, COUNT(*) FROM %s GROUP BY city)")) {
            String bql = bql(query, stretch);
            answers.put(bql, bullet.query(bql));
        }
        assertThat(stretch.size()).isEqualTo((long) (PER_SECOND * STRETCH_MS / 1_000));
        for (Map.Entry<String, CompletableFuture<HttpResponse<String>>> entry : answers.entrySet()) {
            HttpResponse<String> answer = entry.getValue().get(LONG.toSeconds(), TimeUnit.SECONDS);
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
            List<JsonElement> expected = list(oracle.answer(entry.getKey(), stretch));
            assertThat(expected).as(entry.getKey()).isNotEmpty();
            assertSameRecords(entry.getKey(), list(Bullet.json(answer).getAsJsonArray("records")), expected);
        }
    }

    private static String bql(String query, Stretch stretch) {
        return String.format(query, "STREAM(" + DURATION_MS + ", TIME) WHERE " + stretch.where());
    }

    /** In any order, but where the query orders them. */
    private static void assertSameRecords(String bql, List<JsonElement> records, List<JsonElement> expected) {
        if (bql.contains("ORDER BY") || bql.contains("QUANTILE") || bql.contains("FREQ")) {
            assertThat(records).as(bql).isEqualTo(expected);
        } else {
            assertThat(records).as(bql).containsExactlyInAnyOrderElementsOf(expected);
        }
    }

    /** What falls into which window is a matter of milliseconds; what falls into all of them together is not. */
    @Test
    void windowsTogetherHoldEveryRecordOnce() throws Exception {
        Stretch stretch = oracle.stretch(SLACK_MS, SLACK_MS + STRETCH_MS);
        ResultStream raw = bullet.stream(bql("SELECT probe_sequence FROM %s WINDOWING TUMBLING(1000, TIME) LIMIT 500",
                stretch));
        ResultStream grouped =
                bullet.stream(bql("SELECT COUNT(*) AS n, SUM(duration_ms) AS s FROM %s WINDOWING TUMBLING(1000, TIME)",
            stretch));
        ResultStream additive =
                bullet.stream(bql("SELECT COUNT(*) AS n, SUM(duration_ms) AS s FROM %s WINDOWING EVERY(1000, TIME, ALL)",
            stretch));
        ResultStream fives = bullet.stream(bql("SELECT probe_sequence FROM %s WINDOWING TUMBLING(5, RECORD) LIMIT 500",
                stretch));
        ResultStream sliding = bullet.stream(
            bql("SELECT probe_sequence FROM %s WINDOWING EVERY(2, RECORD, FIRST, 2, RECORD) LIMIT 500", stretch));
        JsonObject whole = oracle.answer(bql("SELECT COUNT(*) AS n, SUM(duration_ms) AS s FROM %s", stretch), stretch)
                .get(0).getAsJsonObject();

        assertEachOnce(stretch, end(raw));
        assertThat(end(grouped)).hasSizeGreaterThanOrEqualTo(5);
        assertThat(sum(end(grouped), "n")).isEqualTo(whole.get("n").getAsLong());
        assertThat(sum(end(grouped), "s")).isEqualTo(whole.get("s").getAsLong());
        assertGrowsTo(whole, end(additive));
        assertEachOnce(stretch, end(fives));
        assertWindowsOf(5, end(fives));
        assertEachOnce(stretch, end(sliding));
        assertWindowsOf(2, end(sliding));
    }

    private static List<JsonObject> end(ResultStream stream) throws Exception {
        List<JsonObject> windows = stream.ended().get(LONG.toSeconds(), TimeUnit.SECONDS);
        List<Long> numbers = windows.stream()
            .map(window -> window.getAsJsonObject("meta").getAsJsonObject("Window").get("Number").getAsLong()).toList();
        assertThat(numbers).isSorted().doesNotHaveDuplicates();
        return windows;
    }

    private static void assertEachOnce(Stretch stretch, List<JsonObject> windows) {
        List<Long> sequences = windows.stream().flatMap(window -> list(window.getAsJsonArray("records")).stream())
            .map(record -> record.getAsJsonObject().get("probe_sequence").getAsLong()).toList();
        Set<Long> expected = new HashSet<>();
        for (long sequence = stretch.first(); sequence <= stretch.last(); sequence++) {
            expected.add(sequence);
        }
        assertThat(sequences).containsExactlyInAnyOrderElementsOf(expected);
    }

    private static long sum(List<JsonObject> windows, String field) {
        return windows.stream().map(window -> window.getAsJsonArray("records").get(0).getAsJsonObject().get(field))
            .filter(value -> !value.isJsonNull()).mapToLong(JsonElement::getAsLong).sum();
    }

    private static void assertGrowsTo(JsonObject whole, List<JsonObject> windows) {
        List<Long> counts = windows.stream()
            .map(window -> window.getAsJsonArray("records").get(0).getAsJsonObject().get("n").getAsLong()).toList();
        assertThat(counts).isSorted().contains(whole.get("n").getAsLong());
        assertThat(windows.get(windows.size() - 1).getAsJsonArray("records").get(0)).isEqualTo(whole);
    }

    /** The last one may hold fewer: it is cut off by the query's end. */
    private static void assertWindowsOf(int size, List<JsonObject> windows) {
        List<JsonObject> all = windows.subList(0, windows.size() - 1);
        assertThat(all).isNotEmpty().allSatisfy(window -> assertThat(window.getAsJsonArray("records")).hasSize(size));
    }

    /** BQL is content with them; the engine is not, and says so in its own words. */
    @Test
    void anImproperQueryIsCountedAndItsErrorComesBack() throws Exception {
        long before = known("bullet_improper_queries");
        String improper = "SELECT FREQ(duration_ms, REGION, 0, 1000000000, 0.001) FROM STREAM(30000, TIME)";
        assertThat(bullet.post("/api/bullet/queries/validate-query", improper).get().statusCode()).isEqualTo(204);

        HttpResponse<String> answer = bullet.query(improper).get(LONG.toSeconds(), TimeUnit.SECONDS);

        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(422);
        assertThat(error(Bullet.json(answer))).contains("NegativeArraySizeException");
        List<JsonObject> streamed = bullet.stream(improper).ended().get(LONG.toSeconds(), TimeUnit.SECONDS);
        assertThat(streamed).hasSize(1);
        assertThat(error(streamed.get(0))).contains("NegativeArraySizeException");
        await("bullet_improper_queries").atMost(LONG).until(() -> lastSum("bullet_improper_queries") == before + 2);
    }

    @Test
    void aQueryThatEmitsTooOftenIsEndedWithTheRateLimit() throws Exception {
        bullet.emit("{\"records_per_second\": 50, \"probes\": [{\"value\": \"steady\", \"per_second\": " + PER_SECOND
                + "}, "
            + "{\"value\": \"burst\", \"per_second\": 400}]}");
        long before = known("bullet_rate_exceeded_queries");
        List<JsonObject> results = bullet.stream(
            "SELECT probe_sequence FROM STREAM(60000, TIME) WHERE probe = 'burst' WINDOWING TUMBLING(1, RECORD) LIMIT 1")
            .ended().get(LONG.toSeconds(), TimeUnit.SECONDS);
        bullet.emit("{\"records_per_second\": 50, \"probes\": [{\"value\": \"steady\", \"per_second\": " + PER_SECOND
                + "}]}");

        assertThat(error(results.get(results.size() - 1))).contains("rate");
        await("bullet_rate_exceeded_queries").atMost(LONG)
                .until(() -> lastSum("bullet_rate_exceeded_queries") > before);
    }

    @Test
    void aQueryWhoseClientHasGoneIsKilledInTheTopology() throws Exception {
        ResultStream stream = bullet.stream("SELECT COUNT(*) FROM STREAM(120000, TIME) WINDOWING TUMBLING(1000, TIME)");
        await("the first window").atMost(LONG).until(() -> !stream.results().isEmpty());
        await("the query to be active").atMost(LONG).until(() -> lastSum("bullet_active_queries") > 0);
        long before = bullet.get("/api/stats").get("abandoned").getAsLong();

        stream.close();

        await("the gateway to notice").atMost(LONG)
                .until(() -> bullet.get("/api/stats").get("abandoned").getAsLong() == before + 1);
        await("no query to be active").atMost(LONG).until(() -> lastSum("bullet_active_queries") == 0);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "SELECT * FROM STREAM(1000, TIME) WHERE probe =              | no viable alternative",
        "SELECT no_such_field FROM STREAM(1000, TIME)                | no_such_field",
        "SELECT SUM(probe) FROM STREAM(1000, TIME)                   | must be numeric",
        "SELECT COUNT(*) FROM STREAM(1000, TIME) LIMIT 0             | LIMIT clause must be positive",
        "SELECT COUNT(*) FROM STREAM(9000, TIME) WINDOWING TUMBLING(5, RECORD)     | Only RAW",
        "SELECT COUNT(*) FROM STREAM(9000, TIME) WINDOWING TUMBLING(1000, TIME)    | This endpoint gives one result",
    })
    void aQueryThatIsNoneIsRefusedAtTheDoor(String bql, String reason) throws Exception {
        HttpResponse<String> answer = bullet.query(bql).get();
        assertThat(answer.statusCode()).isEqualTo(400);
        assertThat(error(Bullet.json(answer))).contains(reason);
    }

    /**
     * The engine starts it and cannot finish it: the answer is whole, with the error in its metadata, as Bullet has it.
     */
    @Test
    void anErrorOfTheResultComesInItsMetadata() throws Exception {
        HttpResponse<String> answer = bullet.query(
                "SELECT QUANTILE(duration_ms, MANUAL, 2.5, -1) FROM STREAM(1000, TIME)").get();
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        assertThat(error(Bullet.json(answer))).contains("fraction");
    }

    private static String error(JsonObject result) {
        JsonArray errors = result.getAsJsonObject("meta").getAsJsonArray("errors");
        assertThat(errors).as(result.toString()).isNotEmpty();
        return errors.get(0).getAsJsonObject().get("error").getAsString();
    }

    private static List<JsonElement> list(JsonArray array) {
        List<JsonElement> list = new ArrayList<>();
        array.forEach(list::add);
        return list;
    }

    private static long known(String name) throws Exception {
        await(name).atMost(LONG).until(() -> lastSum(name) >= 0);
        return lastSum(name);
    }

    /** The sum over tasks of a built-in metric's last value; -1 while there is none. */
    private static long lastSum(String name) throws Exception {
        Map<Integer, Long> byTask = new LinkedHashMap<>();
        try (var files = Files.list(captures)) {
            for (Path file : files.toList()) {
                for (JsonObject point : MetricPoints.read(file)) {
                    if (point.get("name").getAsString().equals(name)) {
                        byTask.put(point.get("task").getAsInt(), point.get("value").getAsLong());
                    }
                }
            }
        }
        return byTask.isEmpty() ? -1 : byTask.values().stream().mapToLong(Long::longValue).sum();
    }
}
