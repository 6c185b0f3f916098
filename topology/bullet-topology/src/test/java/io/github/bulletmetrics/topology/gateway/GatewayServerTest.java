package io.github.bulletmetrics.topology.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.sun.management.UnixOperatingSystemMXBean;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.Metadata.Signal;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.query.Query;
import io.github.bulletmetrics.topology.source.SourceReport;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.Serializable;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** The gateway over real HTTP, with bullet-core's own RESTPubSub in the topology's place. */
class GatewayServerTest {
    private static final String RAW = "SELECT * FROM STREAM(60000, TIME) LIMIT 1";
    private static final String RESULT = "{\"records\":[{\"a\":1}],\"meta\":{}}";

    private final HttpClient http = HttpClient.newHttpClient();
    private GatewayServer gateway;
    private BulletSide bullet;

    private void start(GatewayOptions options) throws Exception {
        gateway = new GatewayServer(BulletSide.config(), options, new InetSocketAddress("127.0.0.1", 0), null);
        gateway.start();
        bullet = new BulletSide(gateway.address());
    }

    @AfterEach
    void stop() throws Exception {
        bullet.stop();
        gateway.close();
        gateway.close();
    }

    @Test
    void aQueryGetsItsResult() throws Exception {
        start(GatewayOptions.defaults());
        CompletableFuture<HttpResponse<String>> answer = query(RAW);

        PubSubMessage message = bullet.receive();
        assertThat(message.getContent()).isInstanceOf(Query.class);
        assertThat(message.getContentAsQuery().getDuration()).isEqualTo(60_000);
        assertThat(message.getMetadata().getContent()).isEqualTo("SELECT * FROM STREAM(60000, TIME) LIMIT 1");
        assertThat(message.getMetadata().getCreated()).isBetween(System.currentTimeMillis() - 60_000,
                System.currentTimeMillis());
        assertThat(stats().get("active").getAsInt()).isEqualTo(1);
        bullet.answer(message, RESULT, Signal.COMPLETE);

        assertThat(answer.get().statusCode()).isEqualTo(200);
        assertThat(answer.get().body()).isEqualTo(RESULT);
        assertThat(answer.get().headers().firstValue("content-type")).contains("application/json");
        assertBalance("returned", 1);
    }

    @Test
    void aQueryThatTheTopologyFailsGetsItsError() throws Exception {
        start(GatewayOptions.defaults());
        CompletableFuture<HttpResponse<String>> answer = query(RAW);
        bullet.answer(bullet.receive(), "{\"records\":[],\"meta\":{\"errors\":[]}}", Signal.FAIL);

        assertThat(answer.get().statusCode()).isEqualTo(422);
        assertThat(answer.get().body()).contains("errors");
        assertBalance("failed", 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "", "SELECT", "SELECT * FROM STREAM(1000, TIME) WHERE a = \"", "DROP TABLE x", "\u0000",
        "SELECT * FROM STREAM(60000, TIME) WINDOWING TUMBLING(1000, TIME)",
    })
    void aBadQueryIsRefusedInBulletsShape(String bql) throws Exception {
        start(GatewayOptions.defaults());
        HttpResponse<String> answer = query(bql).get();

        assertThat(answer.statusCode()).isEqualTo(400);
        assertThat(json(answer).getAsJsonArray("records")).isEmpty();
        assertThat(json(answer).getAsJsonObject("meta").getAsJsonArray("errors")).isNotEmpty();
        assertBalance("rejected", 1);
    }

    @Test
    void aQueryThatNeverReturnsIsAnsweredAndKilled() throws Exception {
        start(new GatewayOptions(10, 10, 100, 50));
        HttpResponse<String> answer = query(RAW).get();

        assertThat(answer.statusCode()).isEqualTo(504);
        assertThat(answer.body()).contains("No result came within 150 ms");
        PubSubMessage query = bullet.receive();
        PubSubMessage kill = bullet.receive();
        assertThat(kill.getId()).isEqualTo(query.getId());
        assertThat(kill.hasSignal(Signal.KILL)).isTrue();
        assertThat(kill.hasContent()).isFalse();

        bullet.answer(query, RESULT, Signal.COMPLETE);
        assertThat(stats().get("unknown_results").getAsInt()).isEqualTo(1);
        assertBalance("timed_out", 1);
    }

    @Test
    void aClientThatLeavesBeforeItsAnswerLeavesNoFileDescriptor() throws Exception {
        start(GatewayOptions.defaults());
        UnixOperatingSystemMXBean system =
                (UnixOperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        stats(); // what the first request opens stays open
        long before = system.getOpenFileDescriptorCount();
        List<PubSubMessage> asked = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            try (Socket client = new Socket(url("/").getHost(), url("/").getPort())) {
                client.getOutputStream().write(("POST " + GatewayServer.QUERIES + " HTTP/1.1\r\nHost: gateway\r\n"
                    + "Content-Length: " + RAW.length() + "\r\n\r\n" + RAW).getBytes(StandardCharsets.US_ASCII));
                asked.add(bullet.receive());
            }
        }
        for (PubSubMessage query : asked) {
            bullet.answer(query, RESULT, Signal.COMPLETE);
        }
        assertBalance("returned", 50);
        await().untilAsserted(() -> assertThat(system.getOpenFileDescriptorCount()).isLessThan(before + 25));
    }

    @Test
    void oneTooManyIsRefused() throws Exception {
        start(new GatewayOptions(2, 10, 60_000, 1_000));
        query(RAW);
        query(RAW);
        bullet.receive();
        bullet.receive();

        assertThat(query(RAW).get().statusCode()).isEqualTo(429);
        assertBalance("refused", 1);
    }

    @Test
    void aFullQueueIsSaidAtOnce() throws Exception {
        start(new GatewayOptions(10, 1, 60_000, 1_000));
        query(RAW);
        await().until(() -> stats().get("queue_depth").getAsInt() == 1);

        HttpResponse<String> answer = query(RAW).get();

        assertThat(answer.statusCode()).isEqualTo(503);
        assertThat(answer.body()).contains("polls this gateway");
        assertThat(stats().get("queue_full").getAsInt()).isEqualTo(1);
        assertBalance("refused", 1);
    }

    @Test
    void hundredsOfQueriesWaitWithoutAThreadEach() throws Exception {
        start(GatewayOptions.defaults());
        int many = 500;
        List<CompletableFuture<HttpResponse<String>>> answers = new ArrayList<>();
        for (int i = 0; i < many; i++) {
            answers.add(query(RAW));
        }
        List<PubSubMessage> queries = new ArrayList<>();
        for (int i = 0; i < many; i++) {
            queries.add(bullet.receive());
        }
        assertThat(stats().get("active").getAsInt()).isEqualTo(many);
        assertThat(Thread.getAllStackTraces().keySet()).filteredOn(thread -> thread.getName().startsWith("gateway-"))
            .hasSizeLessThan(30);

        for (PubSubMessage query : queries) {
            bullet.answer(query, RESULT, Signal.COMPLETE);
        }

        for (CompletableFuture<HttpResponse<String>> answer : answers) {
            assertThat(answer.get().body()).isEqualTo(RESULT);
        }
        assertBalance("returned", many);
    }

    @Test
    void theTopologysSignalsComeBackToIt() throws Exception {
        start(GatewayOptions.defaults());
        bullet.signal("some-query", Signal.COMPLETE);

        PubSubMessage message = bullet.receive();

        assertThat(message.getId()).isEqualTo("some-query");
        assertThat(message.hasSignal(Signal.COMPLETE)).isTrue();
        assertThat(stats().get("signals").getAsInt()).isEqualTo(1);
    }

    /** Without its time it would be a signal for all, upon which all would ask, without end. */
    @Test
    void aRequestToReplayKeepsItsTime() throws Exception {
        start(GatewayOptions.defaults());
        bullet.signal("FilterBolt-5", new Metadata(Signal.REPLAY, 1_763_729_161_001L));

        PubSubMessage message = bullet.receive();

        assertThat(message.hasSignal(Signal.REPLAY)).isTrue();
        assertThat(((Number) message.getMetadata().getContent()).longValue()).isEqualTo(1_763_729_161_001L);
    }

    /** Something that the gateway must never make out of what it is sent. */
    public static final class Trap implements Serializable {
        private static final long serialVersionUID = 1L;
        static volatile boolean sprung;

        private void readObject(java.io.ObjectInputStream in) {
            sprung = true;
        }
    }

    @Test
    void noForeignClassIsInstantiated() throws Exception {
        start(GatewayOptions.defaults());
        String trap = new PubSubMessage("q", new Trap(), Signal.COMPLETE).asJSON();

        assertThat(send("POST", GatewayServer.PUBSUB_RESULT, trap).statusCode()).isEqualTo(400);
        assertThat(send("POST", GatewayServer.PUBSUB_QUERY, trap).statusCode()).isEqualTo(400);
        assertThat(Trap.sprung).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "null", "[]", "{}", "{\"id\":1}", "{\"id\":\"q\",\"metadata\":7}",
        "{\"id\":\"q\",\"content\":\"***\"}", "{\"id\":\"q\",\"metadata\":{\"signal\":\"NOPE\"}}",
        "{\"id\":\"q\",\"content\":\"rO0ABXQ\",\"metadata\":{\"signal\":\"COMPLETE\"}}"})
    void garbageFromTheTopologyIsRefused(String garbage) throws Exception {
        start(GatewayOptions.defaults());
        assertThat(send("POST", GatewayServer.PUBSUB_RESULT, garbage).statusCode()).isEqualTo(400);
        assertThat(send("POST", GatewayServer.PUBSUB_QUERY, garbage).statusCode()).isEqualTo(400);
    }

    @Test
    void aStoppingGatewayAnswersThoseWhoWait() throws Exception {
        start(GatewayOptions.defaults());
        CompletableFuture<HttpResponse<String>> answer = query(RAW);
        bullet.receive();
        gateway.close();
        assertThat(answer.get().statusCode()).isEqualTo(503);
    }

    @ParameterizedTest
    @CsvSource({"GET, /nothing, 404", "GET, /api/bullet/queries/http-query, 405", "DELETE, /api/source/control, 405",
        "GET, /-/healthy, 200", "GET, /-/ready, 503", "GET, /api/bullet/pubsub/query, 204"})
    void answersWithTheRightStatus(String method, String path, int status) throws Exception {
        start(GatewayOptions.defaults());
        assertThat(send(method, path, "").statusCode()).isEqualTo(status);
    }

    @Test
    void isReadyOnceATopologyPolls() throws Exception {
        start(GatewayOptions.defaults());
        send("GET", GatewayServer.PUBSUB_QUERY, "");
        assertThat(send("GET", "/-/ready", "").statusCode()).isEqualTo(200);
    }

    @Test
    void aBodyThatIsTooLargeIsRefused() throws Exception {
        start(GatewayOptions.defaults());
        assertThat(query("x".repeat(GatewayServer.MOST_QUERY_BYTES + 1)).get().statusCode()).isEqualTo(413);
    }

    @Test
    void theSourceIsControlledAndReportsBack() throws Exception {
        start(GatewayOptions.defaults());
        assertThat(json(send("GET", GatewayServer.SOURCE_CONTROL, "")).get("version").getAsInt()).isEqualTo(1);
        String control = "{\"records_per_second\":7.0,\"probes\":[{\"value\":\"p\",\"per_second\":2.0}]}";
        assertThat(json(send("PUT", GatewayServer.SOURCE_CONTROL, control)).get("version").getAsInt()).isEqualTo(2);
        assertThat(json(send("PUT", GatewayServer.SOURCE_CONTROL, control)).get("version").getAsInt()).as("the same")
                .isEqualTo(2);
        assertThat(send("PUT", GatewayServer.SOURCE_CONTROL, "{}").statusCode()).isEqualTo(400);

        report(new SourceReport("t-1", 1, 2, 100, 90, 1, 3, 4, 5));
        report(new SourceReport("t-1", 2, 1, 10, 9, 0, 0, 0, 0));
        report(new SourceReport("t-1", 2, 1, 20, 18, 0, 0, 0, 0));

        JsonObject status = json(send("GET", "/api/source/status", ""));
        assertThat(status.get("following").getAsInt()).isEqualTo(1);
        assertThat(status.get("reporting").getAsInt()).isEqualTo(2);
        assertThat(status.get("emitted").getAsLong()).isEqualTo(120);
        assertThat(status.get("lag").getAsLong()).isEqualTo(3);
        assertThat(status.getAsJsonArray("tasks")).hasSize(2);
    }

    private void report(SourceReport report) throws Exception {
        assertThat(send("POST", "/api/source/report", report.toJson().toString()).statusCode()).isEqualTo(200);
    }

    private void assertBalance(String counter, int expected) throws Exception {
        JsonObject stats = stats();
        assertThat(stats.get(counter).getAsInt()).as(stats.toString()).isEqualTo(expected);
        int accounted = 0;
        for (String name : List.of("rejected", "refused", "returned", "failed", "timed_out", "stopped", "active")) {
            accounted += stats.get(name).getAsInt();
        }
        assertThat(stats.get("submitted").getAsInt()).as(stats.toString()).isEqualTo(accounted);
    }

    private JsonObject stats() throws Exception {
        return json(send("GET", "/api/stats", ""));
    }

    private CompletableFuture<HttpResponse<String>> query(String bql) {
        return http.sendAsync(HttpRequest.newBuilder(url(GatewayServer.QUERIES)).POST(
                BodyPublishers.ofString(bql)).build(),
                              BodyHandlers.ofString());
    }

    private HttpResponse<String> send(String method, String path, String body) throws Exception {
        return http.send(HttpRequest.newBuilder(url(path)).method(method, BodyPublishers.ofString(body)).build(),
                         BodyHandlers.ofString());
    }

    private URI url(String path) {
        return URI.create("http://" + gateway.address() + path);
    }

    private static JsonObject json(HttpResponse<String> response) {
        return new JsonParser().parse(response.body()).getAsJsonObject();
    }
}
