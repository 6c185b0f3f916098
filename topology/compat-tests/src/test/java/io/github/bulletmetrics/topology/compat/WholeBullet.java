package io.github.bulletmetrics.topology.compat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.IdentityPubSubMessageSerDe;
import com.yahoo.bullet.storage.MemoryStorageManager;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.Wiring;
import io.github.bulletmetrics.topology.gateway.GatewayOptions;
import io.github.bulletmetrics.topology.gateway.GatewayServer;
import io.github.bulletmetrics.topology.source.SourceSettings;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** The whole Bullet topology with a gateway before it: records and queries for a while, and then no more. */
final class WholeBullet {
    private static final int RECORDS_A_SECOND = 25;
    private static final int RECORDS = 16 * RECORDS_A_SECOND;
    private static final int QUERIES = 10;
    private static final long POLL_MS = 100;
    private static final long LIMIT_MS = 120_000;

    private final HttpClient http = HttpClient.newHttpClient();
    private final GatewayServer gateway;

    private WholeBullet(GatewayServer gateway) {
        this.gateway = gateway;
    }

    /**
     * Returns when all records that will ever be emitted were acked and all queries answered, and has printed how many.
     */
    static void run(String name, Map<String, Object> settings) throws Exception {
        BulletStormConfig config = new BulletStormConfig();
        config.set(BulletConfig.PUBSUB_MESSAGE_SERDE_CLASS_NAME, IdentityPubSubMessageSerDe.class.getName());
        GatewayServer gateway = new GatewayServer(config, GatewayOptions.defaults(),
                new InetSocketAddress("127.0.0.1", 0), null);
        gateway.start();
        WholeBullet bullet = new WholeBullet(gateway);
        bullet.configure(config);
        settings.forEach(config::set);
        config.validate();
        LocalStorm.run(name, Wiring.stormConfig(config), Wiring.topology(config));
        System.out.println(bullet.work().toLine());
    }

    private void configure(BulletStormConfig config) {
        Map.of("filter.bolt", 2, "join.bolt", 2, "query.spout", 1, "result.bolt", 1, "loop.bolt", 1, "bullet.spout", 1,
                "replay.bolt", 1)
            .forEach((component, executors) -> config.set("bullet.topology." + component + ".parallelism", executors));
        StormProcess.intervals().forEach((setting, value) -> config.set("bullet.topology.custom." + setting, value));
        config.set("bullet.topology.metrics.enable", true);
        config.set("bullet.topology.metrics.built.in.enable", true);
        config.set("bullet.topology.metrics.built.in.emit.interval.mapping",
                Map.of("default", SmallTopology.INTERVAL_SECONDS));
        config.set("bullet.topology.metrics.classes", List.of("io.github.bulletmetrics.storm.BulletMetricsConsumer"));
        config.set("bullet.topology.replay.enable", true);
        config.set("bullet.storage.class.name", MemoryStorageManager.class.getName());
        config.set("bullet.topology.generator.records.per.second", 0);
        config.set("bullet.topology.generator.control.poll.interval.ms", POLL_MS);
        // Real Bullet has none.
        config.set(SourceSettings.METRICS_ENABLE, false);
        config.set("bullet.pubsub.rest.query.urls", List.of(url(GatewayServer.PUBSUB_QUERY).toString()));
        config.set("bullet.pubsub.rest.result.url", url(GatewayServer.PUBSUB_RESULT).toString());
        config.set("bullet.topology.generator.control.url", url(GatewayServer.SOURCE_CONTROL).toString());
    }

    private Truth work() throws IOException, InterruptedException {
        await("the record source to report", status -> figure(status, "reporting") > 0);
        emit(RECORDS_A_SECOND);
        for (int query = 0; query < QUERIES; query++) {
            int status = query();
            if (status != 200) {
                throw new IOException("a query was answered with " + status);
            }
        }
        await("the records", status -> figure(status, "emitted") >= RECORDS);
        emit(0);
        JsonObject end = await("the last record to be acked",
                status -> figure(status, "emitted") == figure(status, "acked"));
        return new Truth(figure(end, "emitted"), QUERIES);
    }

    /** Returns when the source follows, and all of it has reported since. */
    private void emit(int recordsPerSecond) throws IOException, InterruptedException {
        http.send(HttpRequest.newBuilder(url(GatewayServer.SOURCE_CONTROL))
            .PUT(BodyPublishers.ofString("{\"records_per_second\": " + recordsPerSecond + "}")).build(),
            BodyHandlers.discarding());
        await("the record source to follow", status -> figure(status, "following") == figure(status, "reporting"));
        long followed = System.nanoTime();
        await("a report since", status -> reported(status, followed));
    }

    private static boolean reported(JsonObject status, long sinceNanos) {
        long sinceMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - sinceNanos);
        for (JsonElement task : status.getAsJsonArray("tasks")) {
            if (figure(task.getAsJsonObject(), "age_ms") >= sinceMs) {
                return false;
            }
        }
        return true;
    }

    private int query() throws IOException, InterruptedException {
        return http.send(HttpRequest.newBuilder(url(GatewayServer.QUERIES)).header("Content-Type", "text/plain")
            .POST(BodyPublishers.ofString("SELECT COUNT(*) AS n FROM STREAM(1000, TIME)")).build(),
            BodyHandlers.discarding()).statusCode();
    }

    private static long figure(JsonObject of, String name) {
        return of.get(name).getAsLong();
    }

    private URI url(String path) {
        return URI.create("http://" + gateway.address() + path);
    }

    private JsonObject await(String what, Predicate<JsonObject> wanted) throws IOException, InterruptedException {
        JsonObject status = gateway.awaitSource(wanted, LIMIT_MS);
        if (!wanted.test(status)) {
            throw new IOException("waited " + LIMIT_MS + " ms for " + what + ": " + status);
        }
        return status;
    }
}
