package io.github.bulletmetrics.topology.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonElement;
import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.storage.MemoryStorageManager;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.cluster.Capture.Point;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** The whole topology with replay, and what a metrics consumer gets of it: 4 filter, 2 join and 2 replay bolt tasks. */
class ReplayInProcessTest {
    private static final Duration LONG = Duration.ofSeconds(60);
    private static final String RECORDED = "capture-replay-2.8.3.jsonl";
    private static final String RAW = "SELECT probe_sequence FROM STREAM(30000, TIME) WHERE probe = 'raw' LIMIT 5";

    @TempDir
    static Path folder;
    static BulletInProcess bullet;

    @BeforeAll
    static void start() throws Exception {
        bullet = new BulletInProcess(folder, Map.of(
            BulletStormConfig.REPLAY_ENABLE, true,
            BulletStormConfig.REPLAY_REQUEST_INTERVAL, 2_000,
            BulletConfig.STORAGE_CLASS_NAME, MemoryStorageManager.class.getName(),
            "bullet.topology.metrics.built.in.emit.interval.mapping", Map.of("default", 1),
            "bullet.topology.custom.topology.v2.metrics.tick.interval.seconds", 5,
            "bullet.topology.custom.topology.builtin.metrics.bucket.size.secs", 5,
            "bullet.topology.custom.topology.stats.sample.rate", 1.0,
            "bullet.topology.generator.records.per.second", 100));
        bullet.control("{\"records_per_second\": 100, \"probes\": [{\"value\": \"raw\", \"per_second\": 50}]}");
    }

    @AfterAll
    static void stop() throws Exception {
        if (bullet != null) {
            bullet.stop();
        }
    }

    /**
     * One test, since replays add up: at the start, then at a signal to all, and queries are answered before and after.
     */
    @Test
    void everyTaskReplaysAtItsStartAndAtASignal() throws Exception {
        await("a replay to each task").atMost(LONG).untilAsserted(() -> assertReplays(1));
        assertAnswered(bullet.query(RAW).get());

        bullet.signal(new PubSubMessage("all", Metadata.Signal.REPLAY));
        await("a second replay to each task").atMost(LONG).untilAsserted(() -> assertReplays(2));
        assertAnswered(bullet.query(RAW).get());

        Set<String> recorded = CaptureComparison.bulletMetrics(CaptureComparison.recorded(RECORDED));
        assertThat(recorded).hasSize(10).contains("ReplayBolt bullet_created_replays java.util.HashMap");
        await("every bullet_* metric").atMost(LONG).untilAsserted(
            () -> assertThat(CaptureComparison.bulletMetrics(bullet.capture())).isEqualTo(recorded));
        Set<String> streams = CaptureComparison.bulletStreams(CaptureComparison.recorded(RECORDED));
        assertThat(streams).contains("ReplayBolt __emit-count-replay", "ReplayBolt __fail-count-QuerySpout:replay");
        await("the counts of every stream of the recorded capture").atMost(LONG).untilAsserted(
            () -> assertThat(CaptureComparison.bulletStreams(bullet.capture())).containsAll(streams));
    }

    private static void assertReplays(long times) {
        Map<String, Long> created = lastOfEach("bullet_created_replays");
        assertThat(created).hasSize(6).allSatisfy((task, count) -> assertThat(count).as(task).isEqualTo(times));
        assertThat(created.keySet()).filteredOn(task -> task.matches("FilterBolt-\\d+")).hasSize(4);
        assertThat(created.keySet()).filteredOn(task -> task.matches("JoinBolt-\\d+")).hasSize(2);
        assertThat(lastOfEach("bullet_active_replays")).hasSize(6)
                .allSatisfy((task, count) -> assertThat(count).isZero());
    }

    /** The last map of each replay bolt task, as one: a task is replayed to by one of them. */
    private static Map<String, Long> lastOfEach(String name) {
        Map<Integer, JsonElement> byTask = new TreeMap<>();
        for (Point point : bullet.capture().points()) {
            if (point.component().equals("ReplayBolt") && point.name().equals(name)) {
                byTask.put(point.task(), point.value());
            }
        }
        Map<String, Long> all = new TreeMap<>();
        byTask.values().forEach(map -> map.getAsJsonObject().entrySet()
            .forEach(entry -> all.merge(entry.getKey(), entry.getValue().getAsLong(), Long::sum)));
        return all;
    }

    private static void assertAnswered(HttpResponse<String> response) {
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        assertThat(BulletInProcess.json(response).getAsJsonArray("records")).hasSize(5);
    }
}
