package io.github.bulletmetrics.topology.clustertests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.yahoo.bullet.pubsub.PubSubMessage;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * Queries by HTTP through the cluster's DRPC server, a process of its own, to a topology on two workers; the gateway
 * only steers its records.
 */
@Tag("slow")
@ExtendWith(ClusterExtension.class)
class DrpcIT {
    private static final String NAME = "by-drpc";
    private static final Duration LONG = Duration.ofSeconds(300);
    private static final int CALLS = 2 * StormCluster.DRPC_THREADS;

    private static final HttpClient HTTP = HttpClient.newHttpClient();
    private static Bullet bullet;
    private static URI url;

    /** When the topology had a query and when it was done with it, by its own clock, ms. */
    private record Life(long received, long finished) {
    }

    @BeforeAll
    static void start(StormCluster cluster) throws Exception {
        url = URI.create("http://127.0.0.1:" + cluster.ready().get("drpc_http_port").getAsInt() + "/drpc/bullet-query");
        Map<String, Object> settings = new LinkedHashMap<>(Bullet.small());
        settings.put("bullet.pubsub.class.name", "com.yahoo.bullet.storm.drpc.DRPCPubSub");
        settings.put("bullet.query.window.disable", true);
        bullet = Bullet.gateway(cluster, NAME, Bullet.arguments(settings));
        settings.putAll(bullet.addresses());
        cluster.submit(NAME, Bullet.MAIN, Bullet.arguments(settings));
        bullet.emit("{\"records_per_second\": 50, \"probes\": [{\"value\": \"steady\", \"per_second\": 10}]}");
        await("a query to be answered").atMost(LONG)
                .until(() -> ask("SELECT record_id FROM STREAM(2000, TIME) LIMIT 1").get().statusCode() == 200);
    }

    @AfterAll
    static void stop() throws Exception {
        if (bullet != null) {
            bullet.close();
        }
    }

    @Test
    void aQueryFindsItsRecords() throws Exception {
        JsonObject result = result(ask("SELECT probe FROM STREAM(30000, TIME) WHERE probe = 'steady' LIMIT 2").get());
        assertThat(result.getAsJsonArray("records")).isNotEmpty()
            .allSatisfy(record -> assertThat(record.getAsJsonObject().get("probe").getAsString()).isEqualTo("steady"));
    }

    @Test
    void whatIsNoQueryIsRefused() throws Exception {
        assertThat(ask("SELECT nothing that is BQL").get().statusCode()).isEqualTo(400);
    }

    /**
     * Twice as many calls as the server has threads: none fails, and no more than there are threads for are in the
     * topology at the same time.
     */
    @Test
    void theServersThreadsBoundTheActiveQueries() throws Exception {
        List<CompletableFuture<HttpResponse<String>>> calls = new ArrayList<>();
        for (int i = 0; i < CALLS; i++) {
            calls.add(ask("SELECT COUNT(*) FROM STREAM(5000, TIME)"));
        }
        List<Life> lives = new ArrayList<>();
        for (CompletableFuture<HttpResponse<String>> call : calls) {
            JsonObject query = result(call.get()).getAsJsonObject("meta").getAsJsonObject("Query");
            lives.add(new Life(query.get("Receive Time").getAsLong(), query.get("Finish Time").getAsLong()));
        }
        for (Life life : lives) {
            assertThat(lives).filteredOn(other -> other.received() <= life.received()
                    && other.finished() > life.received())
                .as("active when this one came").hasSizeLessThan(StormCluster.DRPC_THREADS);
        }
    }

    private static CompletableFuture<HttpResponse<String>> ask(String bql) {
        return HTTP.sendAsync(HttpRequest.newBuilder(url).POST(BodyPublishers.ofString(bql)).build(),
                BodyHandlers.ofString());
    }

    /** What the call returned is a PubSubMessage, whose content is the result. */
    private static JsonObject result(HttpResponse<String> answer) {
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return new JsonParser().parse((String) PubSubMessage.fromJSON(answer.body()).getContent()).getAsJsonObject();
    }
}
