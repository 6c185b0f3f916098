package io.github.bulletmetrics.topology.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

class BulletInProcessTest {
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
            "bullet.topology.generator.records.per.second", 200));
        await().atMost(Duration.ofSeconds(60)).until(() -> bullet.get("/api/source/status").get("reporting").getAsInt() == 2);
    }

    @AfterAll
    static void stop() throws Exception {
        bullet.close();
    }

    @Test
    void aRawQueryGetsItsTenRecords() throws Exception {
        bullet.control("{\"records_per_second\": 200, \"probes\": [{\"value\": \"raw\", \"per_second\": 50}]}");

        HttpResponse<String> response =
            bullet.query("SELECT probe, probe_index FROM STREAM(30000, TIME) WHERE probe = 'raw' LIMIT 10").get();

        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        JsonObject result = BulletInProcess.json(response);
        JsonArray records = result.getAsJsonArray("records");
        assertThat(records).hasSize(10);
        System.out.println(result);
        System.out.println(bullet.get("/api/stats"));
        System.out.println(bullet.get("/api/source/status"));
    }
}
