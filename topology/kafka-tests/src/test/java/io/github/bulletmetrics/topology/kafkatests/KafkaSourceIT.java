package io.github.bulletmetrics.topology.kafkatests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.Settings;
import io.github.bulletmetrics.topology.Wiring;
import io.github.bulletmetrics.topology.dsl.DSLSpout;
import io.github.bulletmetrics.topology.gateway.GatewayOptions;
import io.github.bulletmetrics.topology.gateway.GatewayServer;
import io.github.bulletmetrics.topology.source.SourceSettings;

import org.apache.storm.LocalCluster;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.TopologySummary;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
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
 * The whole topology with the sample's settings for Kafka, reading what the producer wrote into a real broker: a
 * backlog of 100,000 records of the last five minutes.
 */
@Tag("slow")
class KafkaSourceIT {
    private static final Path SAMPLE = Path.of(System.getProperty("topology.folder"),
            "bullet-topology/conf/bullet_settings_kafka.yaml");
    private static final Duration LONG = Duration.ofSeconds(180);
    private static final String TOPIC = "records";
    private static final int PARTITIONS = 4;
    private static final int BACKLOG_SEED = 1;
    private static final int LIVE_SEED = 2;
    private static final int BACKLOG = 100_000;
    private static final int BACKLOG_SECONDS = 300;
    private static final int LIVE_PER_SECOND = 300;
    private static final int SPOUTS = 2;

    @TempDir
    private static Path folder;
    private static LocalKafka kafka;
    private static GatewayServer gateway;
    private static LocalCluster storm;
    private static JsonObject backlog;

    @BeforeAll
    static void start() throws Exception {
        kafka = new LocalKafka(folder.resolve("kafka"));
        kafka.createTopic(TOPIC, PARTITIONS);
        // A little faster than the time allows, so that the count ends it within the backlog.
        backlog = LocalKafka.result(kafka.produce(TOPIC, "--seed", "" + BACKLOG_SEED, "--backlog-seconds",
                "" + BACKLOG_SECONDS,
            "--rate", "" + (BACKLOG / (BACKLOG_SECONDS - 1.0)), "--count", "" + BACKLOG, "--seconds", "0", "-c",
            "compression.type=lz4"));
        BulletStormConfig config = Settings.forTopology(SAMPLE, Map.of());
        gateway = new GatewayServer(config, GatewayOptions.defaults(), new InetSocketAddress("127.0.0.1", 0), null);
        gateway.start();
        storm = new LocalCluster();
    }

    @AfterAll
    static void stop() throws Exception {
        GatedConverter.GATE.countDown();
        for (AutoCloseable part : new AutoCloseable[] {storm, gateway, kafka}) {
            if (part != null) {
                part.close();
            }
        }
    }

    /** The sample's settings, in one process, with metrics each second. */
    private static BulletStormConfig settings(String group, Map<String, Object> more) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bullet.dsl.connector.kafka.bootstrap.servers", kafka.bootstrap());
        settings.put("bullet.dsl.connector.kafka.group.id", group);
        settings.put("bullet.pubsub.rest.query.urls", List.of(url(GatewayServer.PUBSUB_QUERY).toString()));
        settings.put("bullet.pubsub.rest.result.url", url(GatewayServer.PUBSUB_RESULT).toString());
        settings.put("bullet.topology.metrics.classes", List.of());
        settings.put("bullet.topology.metrics.built.in.emit.interval.mapping", Map.of("default", 1));
        settings.put("bullet.topology.custom.topology.workers", 1);
        settings.put("bullet.topology.custom.topology.acker.executors", 1);
        settings.put("bullet.topology.custom.topology.auto.task.hooks", List.of(SeenRecords.class.getName()));
        settings.put("bullet.topology.custom.topology.metrics.consumer.register",
            List.of(Map.of("class", SourceMetrics.class.getName(), "parallelism.hint", 1)));
        settings.putAll(more);
        return Settings.forTopology(SAMPLE, settings);
    }

    private static URI url(String path) {
        return URI.create("http://" + gateway.address() + path);
    }

    private static void submit(String name, BulletStormConfig config) throws Exception {
        storm.submitTopology(name, Wiring.stormConfig(config), Wiring.topology(config));
    }

    private static boolean hasSeenTheBacklog() {
        return SeenRecords.ofSeed(BACKLOG_SEED) == BACKLOG;
    }

    @AfterEach
    void killTopology() throws Exception {
        for (TopologySummary topology : storm.getClusterInfo().get_topologies()) {
            KillOptions now = new KillOptions();
            now.set_wait_secs(0);
            storm.killTopologyWithOpts(topology.get_name(), now);
        }
    }

    @Test
    void everyRecordIsReadOnceAndABacklogIsCaughtUpWhileNewOnesCome() throws Exception {
        assertThat(backlog.get("records").getAsInt()).isEqualTo(BACKLOG);
        long span = backlog.get("last_ms").getAsLong() - backlog.get("first_ms").getAsLong();
        assertThat(span).as("event time of the backlog, ms").isBetween((BACKLOG_SECONDS - 2) * 1000L,
                BACKLOG_SECONDS * 1000L);
        Process live = kafka.produce(TOPIC, "--seed", "" + LIVE_SEED, "--rate", "" + LIVE_PER_SECOND);

        submit("catching-up", settings("catching-up", Map.of()));
        await("the first record").atMost(LONG).pollInterval(Duration.ofMillis(20))
                .until(() -> !SeenRecords.TIMES.isEmpty());
        long first = System.nanoTime();
        await("the backlog").atMost(LONG).pollInterval(Duration.ofMillis(50)).until(KafkaSourceIT::hasSeenTheBacklog);
        double seconds = (System.nanoTime() - first) / 1e9;
        // At this moment everything older than the last moment of the backlog has been seen, and new records as they
        // came.
        double ratio = (span / 1000.0 + seconds) / seconds;
        System.out.printf("kafka catch-up: %d records, %.0f s of event time, read in %.1f s beside %d new ones a second: %.0f R/s,"
            + " %.1f MB/s, ratio %.1f : 1%n", BACKLOG, span / 1000.0, seconds, LIVE_PER_SECOND, BACKLOG / seconds,
            backlog.get("bytes").getAsLong() / 1e6 / seconds, ratio);
        assertThat(ratio).as("event time for each second of the clock").isGreaterThan(1.5);
        await("the lag to be less than a second's records").atMost(LONG)
            .until(() -> lag() >= 0 && lag() < LIVE_PER_SECOND);

        assertThatAQueryFindsTheBrokersTimestamps();

        JsonObject written = LocalKafka.end(live);
        long records = BACKLOG + written.get("records").getAsLong();
        await("every record").atMost(LONG).until(() -> SeenRecords.TIMES.size() >= records);
        await("the lag to be 0").atMost(LONG).until(() -> lag() == 0);
        await("the last figures").atMost(LONG)
                .until(() -> SourceMetrics.sum("catching-up", "bullet_source_records", SPOUTS) >= records);

        assertThat(SeenRecords.TIMES).hasSize((int) records);
        assertThat(SeenRecords.TIMES.values()).as("times that each record came").allMatch(times -> times == 1);
        assertThat(SeenRecords.WRONG_TIMES).as("records without the broker's own timestamp").hasValue(0);
        assertThat(SourceMetrics.sum("catching-up", "bullet_source_records", SPOUTS)).isEqualTo(records);
        assertThat(SourceMetrics.sum("catching-up", "bullet_source_bytes", SPOUTS))
            .isEqualTo(backlog.get("bytes").getAsLong() + written.get("bytes").getAsLong());
        assertThat(SourceMetrics.sum("catching-up", "bullet_source_repeated", SPOUTS)).isZero();
        assertThat(SourceMetrics.sumOfMaps("catching-up", "bullet_source_left_out")).isZero();
    }

    private static long lag() {
        return SourceMetrics.sum("catching-up", "bullet_source_lag", SPOUTS);
    }

    private static void assertThatAQueryFindsTheBrokersTimestamps() throws Exception {
        HttpResponse<String> response = HttpClient.newHttpClient()
                .send(HttpRequest.newBuilder(url(GatewayServer.QUERIES))
            .header("Content-Type", "text/plain").POST(HttpRequest.BodyPublishers.ofString(
                "SELECT kafka_received_ms, event_time_ms FROM STREAM(20000, TIME) LIMIT 5")).build(),
            HttpResponse.BodyHandlers.ofString());
        assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
        JsonArray records = new JsonParser().parse(response.body()).getAsJsonObject().getAsJsonArray("records");
        assertThat(records).hasSize(5);
        for (JsonElement record : records) {
            assertThat(record.getAsJsonObject().get("kafka_received_ms").getAsLong())
                .isEqualTo(record.getAsJsonObject().get("event_time_ms").getAsLong());
        }
    }

    @Test
    void maxSpoutPendingCountsBatches() throws Exception {
        int pending = 3;
        submit("pending", settings("pending", Map.of(
            "bullet.dsl.connector.class.name", CountingConnector.class.getName(),
            "bullet.dsl.converter.class.name", GatedConverter.class.getName(),
            SourceSettings.TIMESTAMP_FIELD, "kafka_received_ms",
            "bullet.topology.custom.topology.auto.task.hooks", List.of(),
            "bullet.topology.custom.topology.message.timeout.secs", 600,
            "bullet.topology.custom.topology.max.spout.pending", pending,
            "bullet.topology.dsl.spout.parallelism", 1)));

        await("as many batches as may be pending").atMost(LONG).until(() -> CountingConnector.BATCHES.get() == pending);
        await("the messages of three batches, and the others as the lag").atMost(LONG).untilAsserted(() -> {
            long read = SourceMetrics.sum("pending", "bullet_source_records", 1);
            assertThat(read).isBetween((long) pending, pending * 500L);
            assertThat(SourceMetrics.sum("pending", "bullet_source_lag", 1)).isGreaterThanOrEqualTo(BACKLOG - read);
        });
        await("no more").during(Duration.ofSeconds(3)).atMost(Duration.ofSeconds(10))
            .until(() -> CountingConnector.BATCHES.get() == pending);

        GatedConverter.GATE.countDown();
        await("the spout to go on").atMost(LONG).until(() -> CountingConnector.BATCHES.get() > 10 * pending);
        assertThat(CountingConnector.LARGEST.get()).isBetween(100, 500);
    }

    /** The bound is six standard deviations of the binomial distribution. */
    @Test
    void samplingTakesItsShareAndCountsTheRest() throws Exception {
        double share = 0.25;
        try (OneTask task = new OneTask(
                new DSLSpout(settings("sampling", Map.of(SourceSettings.SAMPLING_PERCENTAGE, 100 * share))))) {
            await("the backlog").atMost(LONG).pollInSameThread().pollInterval(Duration.ofMillis(1)).until(() -> {
                task.nextTuple();
                return (Long) task.metric("bullet_source_records") >= BACKLOG;
            });

            long read = (Long) task.metric("bullet_source_records");
            double sixSigma = 6 * Math.sqrt(read * share * (1 - share));
            assertThat((double) task.messages()).isBetween(read * share - sixSigma, read * share + sixSigma);
            assertThat(task.metric("bullet_source_left_out"))
                    .isEqualTo(Map.of("sampling", read - task.messages(), "empty", 0L));
            assertThat(task.largestBatch()).isLessThanOrEqualTo(500);
        }
    }
}
