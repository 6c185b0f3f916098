package io.github.bulletmetrics.topology.kafkatests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.Settings;
import io.github.bulletmetrics.topology.Wiring;
import io.github.bulletmetrics.topology.gateway.GatewayOptions;
import io.github.bulletmetrics.topology.gateway.GatewayServer;
import io.github.bulletmetrics.topology.source.SourceSettings;

import org.apache.storm.LocalCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What a latency probe reads from an answer, with a real broker that stamps records itself and a producer that follows
 * the gateway: every stage of a record's way, in the order that cause and effect demand on one host.
 */
@Tag("slow")
class KafkaTimelineIT {
    private static final Path SAMPLE = Path.of(System.getProperty("topology.folder"),
            "bullet-topology/conf/bullet_settings_kafka.yaml");
    private static final Duration LONG = Duration.ofSeconds(120);
    private static final int QUERIES = 10;
    private static final double PER_SECOND = 10;
    /** How long after its query a record is made at the soonest, as in collector-go/internal/lab/measure/trace.go. */
    private static final long LEAD_MS = 500;

    @TempDir
    private static Path folder;
    private static LocalKafka kafka;
    private static GatewayServer gateway;
    private static LocalCluster storm;
    private static Process producer;
    private final HttpClient client = HttpClient.newHttpClient();

    @BeforeAll
    static void start() throws Exception {
        kafka = new LocalKafka(folder.resolve("kafka"));
        kafka.createTopic("records", 2, "message.timestamp.type=LogAppendTime");
        gateway = new GatewayServer(Settings.forTopology(SAMPLE, Map.of()), GatewayOptions.defaults(),
                new InetSocketAddress("127.0.0.1", 0), null);
        gateway.start();
        storm = new LocalCluster();
        BulletStormConfig config = Settings.forTopology(SAMPLE, settings());
        storm.submitTopology("timeline", Wiring.stormConfig(config), Wiring.topology(config));
        producer = kafka.produce("records", "--rate", "0", "--control-url", url("/api/source/control").toString());
    }

    @AfterAll
    static void stop() throws Exception {
        if (producer != null) {
            producer.destroy();
        }
        for (AutoCloseable part : new AutoCloseable[] {storm, gateway, kafka}) {
            if (part != null) {
                part.close();
            }
        }
    }

    private static Map<String, Object> settings() {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bullet.dsl.connector.kafka.bootstrap.servers", kafka.bootstrap());
        settings.put("bullet.pubsub.rest.query.urls", List.of(url(GatewayServer.PUBSUB_QUERY).toString()));
        settings.put("bullet.pubsub.rest.result.url", url(GatewayServer.PUBSUB_RESULT).toString());
        settings.put("bullet.topology.metrics.classes", List.of());
        settings.put("bullet.topology.custom.topology.workers", 1);
        settings.put("bullet.topology.custom.topology.acker.executors", 1);
        settings.put(SourceSettings.RECEIVED_FIELD, "bullet_received_ms");
        settings.put(SourceSettings.FILTERED_FIELD, "bullet_filtered_ms");
        return settings;
    }

    private static URI url(String path) {
        return URI.create("http://" + gateway.address() + path);
    }

    private JsonObject send(HttpRequest.Builder request) throws Exception {
        HttpResponse<String> response = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        return new JsonParser().parse(response.body()).getAsJsonObject();
    }

    private JsonObject query(String bql) throws Exception {
        return send(HttpRequest.newBuilder(url(GatewayServer.QUERIES)).header("Content-Type", "text/plain")
            .POST(HttpRequest.BodyPublishers.ofString(bql)));
    }

    @Test
    void everyStageIsStampedInTheOrderOfCauseAndEffect() throws Exception {
        JsonObject asked = send(HttpRequest.newBuilder(url("/api/source/control")).header("Content-Type",
                "application/json")
            .PUT(HttpRequest.BodyPublishers.ofString(
            "{\"records_per_second\":100,\"probes\":[{\"value\":\"probe-0\",\"per_second\":" + PER_SECOND + "}]}")));
        await("the producer to follow the gateway").atMost(LONG).untilAsserted(() -> {
            JsonObject status = send(HttpRequest.newBuilder(url("/api/source/status")));
            assertThat(status.get("version")).isEqualTo(asked.get("version"));
            assertThat(status.get("reporting").getAsInt()).isEqualTo(1);
            assertThat(status.get("following").getAsInt()).isEqualTo(1);
            assertThat(status.get("emitted").getAsLong()).isPositive();
        });
        await("a query that finds a record").atMost(LONG)
            .until(() -> query("SELECT * FROM STREAM(5000, TIME) LIMIT 1").getAsJsonArray("records").size() == 1);

        int later = 0;
        for (int i = 0; i < QUERIES; i++) {
            long submitted = System.currentTimeMillis();
            long sequence = (long) Math.floor((submitted + LEAD_MS) * PER_SECOND / 1e3) + 1;
            JsonObject answer = query("SELECT * FROM STREAM(15000, TIME) WHERE probe = 'probe-0' AND probe_sequence = "
                    + sequence + " LIMIT 1");
            long returned = System.currentTimeMillis();

            assertThat(answer.getAsJsonArray("records")).as("query %d for record %d", i, sequence).hasSize(1);
            JsonObject record = answer.getAsJsonArray("records").get(0).getAsJsonObject();
            JsonObject times = answer.getAsJsonObject("meta").getAsJsonObject("Query");
            assertThat(record.get("event_time_ms").getAsLong()).as("made after its query")
                    .isGreaterThanOrEqualTo(submitted + LEAD_MS);
            assertThat(List.of(record.get("event_time_ms").getAsLong(), record.get("kafka_received_ms").getAsLong(),
                record.get("bullet_received_ms").getAsLong(), record.get("bullet_filtered_ms").getAsLong(),
                times.get("Finish Time").getAsLong(), returned)).as("the record's way").isSorted();
            assertThat(List.of(submitted, times.get("Receive Time").getAsLong(), times.get("Finish Time").getAsLong(),
                    returned))
                .as("the query's way").isSorted();
            later += record.get("kafka_received_ms").getAsLong() > record.get("event_time_ms").getAsLong() ? 1 : 0;
            assertThat(times.get("Receive Time").getAsLong()).as("the query is there before the record").isLessThan(
                record.get("bullet_filtered_ms").getAsLong());
        }
        assertThat(later).as("records that the broker stamped itself").isPositive();
    }
}
