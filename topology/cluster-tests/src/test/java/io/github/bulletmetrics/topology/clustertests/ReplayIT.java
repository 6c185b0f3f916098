package io.github.bulletmetrics.topology.clustertests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Replay after a worker's death: three workers with a filter task each; the one that dies holds neither join nor replay
 * bolt.
 */
@Tag("slow")
@ExtendWith(ClusterExtension.class)
class ReplayIT {
    private static final Duration LONG = Duration.ofSeconds(300);
    private static final int PER_SECOND = 20;
    /**
     * Of consecutive records. With one of three filter tasks not knowing the query, a third of the records is missing.
     */
    private static final int WHOLE_STRETCH = 6 * PER_SECOND;

    private static Bullet bullet;
    private static Path captures;

    @BeforeAll
    static void start(StormCluster cluster) throws Exception {
        captures = Files.createDirectories(cluster.folder().resolve("replay-captures"));
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bullet.topology.replay.enable", true,
            "bullet.storage.class.name", "com.yahoo.bullet.storage.MemoryStorageManager",
            "bullet.topology.replay.request.interval", 1_000,
            "bullet.query.aggregation.raw.max.size", 500,
            "topology.workers", 3,
            // Records for every filter task, not only for the one beside the source.
            "topology.disable.loadaware.messaging", true,
            "topology.message.timeout.secs", 5,
            "topology.metrics.consumer.register", List.of(Map.of(
                "class", "io.github.bulletmetrics.topology.capture.CaptureConsumer", "parallelism.hint", 1,
                "argument", Map.of("file", captures.resolve("metrics-%d.jsonl").toString()))),
            "bullet.topology.metrics.built.in.emit.interval.mapping", Map.of("default", 1)));
        Map.of("filter.bolt", 3, "join.bolt", 1, "replay.bolt", 1, "query.spout", 1, "result.bolt", 1, "loop.bolt", 1,
                "bullet.spout", 1)
            .forEach((component, executors) -> settings.put("bullet.topology." + component + ".parallelism",
            executors));
        bullet = Bullet.start(cluster, "replay", settings);
        bullet.emit("{\"records_per_second\": 50, \"probes\": [{\"value\": \"p\", \"per_second\": " + PER_SECOND
                + "}]}");
    }

    @AfterAll
    static void stop() throws Exception {
        if (bullet != null) {
            bullet.close();
        }
    }

    @Test
    void aKilledFilterWorkerReplaysItsQueries() throws Exception {
        await("where the tasks run, and the replays of the start").atMost(LONG).untilAsserted(() -> {
            assertThat(ports("FilterBolt")).hasSize(3);
            assertThat(ports("JoinBolt")).hasSize(1);
            assertThat(createdReplays()).isEqualTo(4);
        });
        try (ResultStream results = bullet.stream(
            "SELECT probe_sequence FROM STREAM(600000, TIME) WHERE probe = 'p' WINDOWING TUMBLING(1000, TIME) LIMIT 500")) {
            await("a stretch of records without a hole").atMost(LONG)
                    .until(() -> longestStretch(results, -1) >= PER_SECOND);
            StormCluster.Worker victim = victim();

            StormCluster.killHard(victim);

            await("another worker in its slot").atMost(LONG).until(() -> bullet.workers().stream()
                .anyMatch(worker -> worker.port() == victim.port() && worker.pid() != victim.pid()));
            await("the replay to its filter task").atMost(LONG).until(() -> createdReplays() > 4);
            long replayed = sequences(results).last();
            await("a stretch without a hole of records made later").atMost(LONG)
                .until(() -> longestStretch(results, replayed) >= WHOLE_STRETCH);
            assertThat(results.ended()).isNotDone();
        }
    }

    private static StormCluster.Worker victim() throws IOException, InterruptedException {
        Collection<Integer> needed = new TreeSet<>(ports("JoinBolt"));
        needed.addAll(ports("ReplayBolt"));
        List<StormCluster.Worker> workers = bullet.workers();
        return workers.stream().filter(worker -> !needed.contains(worker.port())).findFirst()
            .orElseThrow(() -> new AssertionError("join and replay bolt are on " + needed + " of " + workers));
    }

    /** The slots in which a component's tasks are. */
    private static TreeSet<Integer> ports(String component) throws IOException {
        TreeSet<Integer> ports = new TreeSet<>();
        for (JsonObject point : points()) {
            if (point.get("component").getAsString().equals(component)) {
                ports.add(point.get("port").getAsInt());
            }
        }
        return ports;
    }

    /** The replay bolt's last word on how many replays it has begun, to all tasks. */
    private static long createdReplays() throws IOException {
        long created = 0;
        for (JsonObject point : points()) {
            if (point.get("name").getAsString().equals("bullet_created_replays")) {
                created = point.getAsJsonObject("value").entrySet().stream()
                        .mapToLong(entry -> entry.getValue().getAsLong()).sum();
            }
        }
        return created;
    }

    private static List<JsonObject> points() throws IOException {
        try (Stream<Path> files = Files.list(captures)) {
            List<Path> found = files.toList();
            return found.isEmpty() ? List.of() : MetricPoints.read(found.get(0));
        }
    }

    private static TreeSet<Long> sequences(ResultStream results) {
        TreeSet<Long> sequences = new TreeSet<>();
        for (JsonObject result : results.results()) {
            for (JsonElement record : result.getAsJsonArray("records")) {
                sequences.add(record.getAsJsonObject().get("probe_sequence").getAsLong());
            }
        }
        return sequences;
    }

    /** The most consecutive sequence numbers above one. */
    private static int longestStretch(ResultStream results, long above) {
        int longest = 0;
        int length = 0;
        long before = above;
        for (long sequence : sequences(results).tailSet(above, false)) {
            length = sequence == before + 1 ? length + 1 : 1;
            longest = Math.max(longest, length);
            before = sequence;
        }
        return longest;
    }
}
