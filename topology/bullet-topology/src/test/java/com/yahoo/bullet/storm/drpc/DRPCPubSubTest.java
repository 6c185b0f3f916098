package com.yahoo.bullet.storm.drpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonParser;
import com.yahoo.bullet.bql.BQLResult;
import com.yahoo.bullet.bql.BulletQueryBuilder;
import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.IdentityPubSubMessageSerDe;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSub;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.pubsub.PubSubMessageSerDe;
import com.yahoo.bullet.pubsub.Publisher;
import com.yahoo.bullet.pubsub.Subscriber;
import com.yahoo.bullet.query.Query;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.Wiring;

import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.generated.KillOptions;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;

/** The DRPC PubSub against Storm's DRPC server. */
class DRPCPubSubTest {
    private static final Duration LONG = Duration.ofSeconds(90);
    private static final String RAW =
            "SELECT probe, probe_sequence FROM STREAM(30000, TIME) WHERE probe = 'raw' LIMIT 10";

    private StormDRPC drpc;
    private Publisher queries;
    private Subscriber results;

    private void start(int invocationsPort, int timeoutSecs) throws Exception {
        drpc = new StormDRPC(invocationsPort, timeoutSecs);
        PubSub submission = PubSub.from(config("QUERY_SUBMISSION"));
        queries = submission.getPublisher();
        results = submission.getSubscriber();
    }

    @AfterEach
    void stop() {
        if (drpc != null) {
            drpc.close();
        }
    }

    private BulletStormConfig config(String context) {
        BulletStormConfig config = new BulletStormConfig();
        config.set(BulletConfig.PUBSUB_CLASS_NAME, "com.yahoo.bullet.storm.drpc.DRPCPubSub");
        config.set(BulletConfig.PUBSUB_CONTEXT_NAME, context);
        config.set(BulletConfig.PUBSUB_MESSAGE_SERDE_CLASS_NAME, IdentityPubSubMessageSerDe.class.getName());
        config.set(BulletConfig.WINDOW_DISABLE, true);
        if (drpc != null) {
            config.set(BulletStormConfig.STORM_CONFIG, drpc.storm());
            config.set("bullet.pubsub.storm.drpc.http.port", Integer.toString(drpc.httpPort()));
        }
        return config.validate();
    }

    private PubSubMessage query(String id) {
        BulletConfig config = config("QUERY_SUBMISSION");
        BQLResult result = new BulletQueryBuilder(config).buildQuery(RAW);
        return PubSubMessageSerDe.from(config).toMessage(id, result.getQuery(), result.getBql());
    }

    private static PubSubMessage received(Subscriber subscriber) {
        AtomicReference<PubSubMessage> received = new AtomicReference<>();
        await("a message").atMost(LONG).pollInterval(Duration.ofMillis(5)).until(() -> {
            received.set(subscriber.receive());
            return received.get() != null;
        });
        return received.get();
    }

    @Test
    void aRawQueryIsAnsweredByTheTopology() throws Exception {
        start(StormDRPC.freePort(), 60);
        BulletStormConfig config = config("QUERY_PROCESSING");
        config.set(BulletStormConfig.STORM_CONFIG, null);
        Map.of("filter.bolt", 2, "join.bolt", 2, "query.spout", 2, "result.bolt", 1, "bullet.spout", 1).forEach(
            (component, executors) -> config.set("bullet.topology." + component + ".parallelism", executors));
        config.set("bullet.topology.generator.records.per.second", 20);
        config.set("bullet.topology.generator.probes", List.of(Map.of("value", "raw", "per.second", 20.0)));
        config.set("bullet.topology.custom.drpc.invocations.port", drpc.storm().get(Config.DRPC_INVOCATIONS_PORT));
        config.validate();
        try (LocalCluster cluster = new LocalCluster()) {
            cluster.submitTopology("drpc", Wiring.stormConfig(config), Wiring.topology(config));

            queries.send(query("q"));
            PubSubMessage result = received(results);

            assertThat(result.getId()).isEqualTo("q");
            assertThat(result.hasSignal(Metadata.Signal.COMPLETE)).isTrue();
            JsonArray records = new JsonParser().parse(result.getContentAsString()).getAsJsonObject()
                    .getAsJsonArray("records");
            assertThat(records).hasSize(10);
            for (JsonElement record : records) {
                assertThat(record.getAsJsonObject().get("probe").getAsString()).isEqualTo("raw");
            }
            assertThat(result.getContentAsString()).contains("SELECT probe, probe_sequence FROM STREAM(30000, TIME)");
            KillOptions now = new KillOptions();
            now.set_wait_secs(0);
            cluster.killTopologyWithOpts("drpc", now);
        }
    }

    @Test
    void aQueryTravelsToTheTopologyAndItsResultBack() throws Exception {
        start(StormDRPC.freePort(), 60);
        PubSub processing = PubSub.from(config("QUERY_PROCESSING"));
        try (Subscriber subscriber = processing.getSubscriber(); Publisher publisher = processing.getPublisher()) {
            queries.send(query("q"));

            PubSubMessage arrived = received(subscriber);
            assertThat(arrived.getId()).isEqualTo("q");
            assertThat(arrived.getContent()).isInstanceOf(Query.class);
            assertThat(arrived.getMetadata().getContent()).isEqualTo(RAW);
            subscriber.commit("q");
            assertThat(subscriber.receive()).isNull();

            Metadata end = arrived.getMetadata().copy();
            end.setSignal(Metadata.Signal.COMPLETE);
            publisher.send(new PubSubMessage("q", "{\"records\":[]}", end));

            PubSubMessage result = received(results);
            assertThat(result.getContent()).isEqualTo("{\"records\":[]}");
            assertThat(result.hasSignal(Metadata.Signal.COMPLETE)).isTrue();
        }
    }

    @Test
    void aResultOfAnotherPubSubIsRefused() throws Exception {
        start(StormDRPC.freePort(), 60);
        try (Publisher publisher = PubSub.from(config("QUERY_PROCESSING")).getPublisher()) {
            assertThatThrownBy(() -> publisher.send(new PubSubMessage("q", "{}", Metadata.Signal.COMPLETE)))
                .hasMessageContaining("was not submitted by DRPC");
        }
    }

    @Test
    void aFailedQueryIsReadAgainAndAnUncommittedOneFailsWhenTheTopologyEnds() throws Exception {
        start(StormDRPC.freePort(), 60);
        Subscriber subscriber = PubSub.from(config("QUERY_PROCESSING")).getSubscriber();
        queries.send(query("q"));
        received(subscriber);
        subscriber.fail("q");
        assertThat(received(subscriber).getId()).isEqualTo("q");

        subscriber.close();

        PubSubMessage result = received(results);
        assertThat(result.getId()).isEqualTo("q");
        assertThat(result.hasSignal(Metadata.Signal.FAIL)).isTrue();
    }

    @Test
    void noMoreQueriesAreReadThanMayBeUncommitted() throws Exception {
        start(StormDRPC.freePort(), 60);
        BulletStormConfig config = config("QUERY_PROCESSING");
        config.set("bullet.pubsub.storm.drpc.max.uncommitted.messages", 1);
        try (Subscriber subscriber = PubSub.from(config).getSubscriber()) {
            queries.send(query("a"));
            queries.send(query("b"));
            String first = received(subscriber).getId();
            for (int i = 0; i < 20; i++) {
                assertThat(subscriber.receive()).isNull();
            }
            subscriber.commit(first);
            assertThat(received(subscriber).getId()).isNotEqualTo(first);
        }
    }

    @Test
    void plainBqlIsAQueryToo() throws Exception {
        start(StormDRPC.freePort(), 60);
        PubSub processing = PubSub.from(config("QUERY_PROCESSING"));
        try (Subscriber subscriber = processing.getSubscriber(); Publisher publisher = processing.getPublisher()) {
            CompletableFuture<HttpResponse<String>> answer = post(RAW);

            PubSubMessage arrived = received(subscriber);
            assertThat(arrived.getContent()).isInstanceOf(Query.class);
            assertThat(arrived.getMetadata().getContent()).isEqualTo(RAW);
            Metadata end = arrived.getMetadata().copy();
            end.setSignal(Metadata.Signal.COMPLETE);
            publisher.send(new PubSubMessage(arrived.getId(), "{\"records\":[]}", end));

            assertThat(answer.get().statusCode()).isEqualTo(200);
            assertThat(PubSubMessage.fromJSON(answer.get().body()).getContent()).isEqualTo("{\"records\":[]}");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"garbage", "{\"content\": 1", "SELECT * FROM STREAM(1000, TIME) WHERE"})
    void anArgumentThatIsNoQueryFailsItsCall(String argument) throws Exception {
        start(StormDRPC.freePort(), 60);
        CompletableFuture<HttpResponse<String>> answer = post(argument);
        try (Subscriber subscriber = PubSub.from(config("QUERY_PROCESSING")).getSubscriber()) {
            await("the call to fail").atMost(LONG).until(() -> {
                assertThat(subscriber.receive()).isNull();
                return answer.isDone();
            });
        }
        assertThat(answer.get().statusCode()).isEqualTo(500);
    }

    private CompletableFuture<HttpResponse<String>> post(String argument) {
        URI function = URI.create("http://127.0.0.1:" + drpc.httpPort() + "/drpc/bullet-query");
        return HttpClient.newHttpClient().sendAsync(
            HttpRequest.newBuilder(function).POST(HttpRequest.BodyPublishers.ofString(argument)).build(),
            HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void aServerThatComesLateIsFound() throws Exception {
        int port = StormDRPC.freePort();
        drpc = null;
        BulletStormConfig config = config("QUERY_PROCESSING");
        Map<String, Object> storm = new java.util.HashMap<>(org.apache.storm.utils.Utils.readDefaultConfig());
        storm.put(Config.DRPC_INVOCATIONS_PORT, port);
        storm.put(Config.STORM_NIMBUS_RETRY_TIMES, 0);
        config.set(BulletStormConfig.STORM_CONFIG, storm);
        try (Subscriber subscriber = PubSub.from(config).getSubscriber()) {
            assertThat(subscriber.receive()).isNull();
            start(port, 60);
            queries.send(query("q"));
            assertThat(received(subscriber).getId()).isEqualTo("q");
        }
    }

    @Test
    void aSubmitterThatReachesNobodyGetsAnError() throws Exception {
        BulletStormConfig config = config("QUERY_SUBMISSION");
        config.set("bullet.pubsub.storm.drpc.http.port", StormDRPC.freePort());
        PubSub submission = PubSub.from(config);
        Publisher publisher = submission.getPublisher();
        publisher.send(query("q"));

        PubSubMessage result = received(submission.getSubscriber());
        assertThat(result.hasSignal(Metadata.Signal.FAIL)).isTrue();
        assertThat(result.getContentAsString()).contains("The DRPC servers gave no result");
    }

    @Test
    void windowsMustBeDisabled() {
        BulletStormConfig config = config("QUERY_PROCESSING");
        config.set(BulletConfig.WINDOW_DISABLE, false);
        assertThatThrownBy(() -> DRPCSettings.from(config))
                .hasMessageContaining("bullet.query.window.disable must be true");
    }

    @Test
    void hasBulletsDefaultsAlsoForBadValues() {
        BulletStormConfig config = config("QUERY_PROCESSING");
        DRPCSettings defaults = new DRPCSettings(List.of("127.0.0.1"), "bullet-query", "http", 3774, "drpc", 5_000, 3,
                50);
        assertThat(DRPCSettings.from(config)).isEqualTo(defaults);

        Map.of("servers", 7, "function", 7, "http.protocol", "gopher", "http.port", "many", "http.path", 7,
               "http.connect.timeout.ms", -1, "http.connect.retry.limit", "x", "max.uncommitted.messages", 0)
            .forEach((name, bad) -> config.set("bullet.pubsub.storm.drpc." + name, bad));
        assertThat(DRPCSettings.from(config)).isEqualTo(defaults);

        config.set("bullet.pubsub.storm.drpc.http.port", "4000");
        assertThat(DRPCSettings.from(config).port()).isEqualTo(4_000);
    }
}
