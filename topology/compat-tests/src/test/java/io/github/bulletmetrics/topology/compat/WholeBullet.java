package io.github.bulletmetrics.topology.compat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
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
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import java.util.Map;

/** The whole Bullet topology with a gateway before it: records and queries for a while, and then no more. */
final class WholeBullet {
    private static final int RECORDS_A_SECOND = 25;
    private static final long RECORDS_MS = 16_000;
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
        await("the record source to report", () -> sum("reporting") > 0);
        emit(RECORDS_A_SECOND);
        long until = System.nanoTime() + RECORDS_MS * 1_000_000;
        int queries = 0;
        while (queries < QUERIES || System.nanoTime() < until) {
            if (queries < QUERIES) {
                int status = query();
                if (status != 200) {
                    throw new IOException("a query was answered with " + status);
                }
                queries++;
            } else {
                Thread.sleep(POLL_MS);
            }
        }
        emit(0);
        await("the last record to be acked", () -> sum("emitted") > 0 && sum("emitted") == sum("acked"));
        return new Truth(sum("emitted"), queries);
    }

    /** Returns when the source follows. */
    private void emit(int recordsPerSecond) throws IOException, InterruptedException {
        http.send(HttpRequest.newBuilder(url(GatewayServer.SOURCE_CONTROL))
            .PUT(BodyPublishers.ofString("{\"records_per_second\": " + recordsPerSecond + "}")).build(),
            BodyHandlers.discarding());
        await("the record source to follow", () -> sum("following") == sum("reporting"));
        // What it reported may be from before: the next report is not.
        Thread.sleep(10 * POLL_MS);
    }

    private int query() throws IOException, InterruptedException {
        return http.send(HttpRequest.newBuilder(url(GatewayServer.QUERIES)).header("Content-Type", "text/plain")
            .POST(BodyPublishers.ofString("SELECT COUNT(*) AS n FROM STREAM(1000, TIME)")).build(),
            BodyHandlers.discarding()).statusCode();
    }

    private long sum(String figure) throws IOException, InterruptedException {
        HttpResponse<String> status = http.send(HttpRequest.newBuilder(url(GatewayServer.SOURCE_STATUS)).build(),
                BodyHandlers.ofString());
        JsonObject answer = new JsonParser().parse(status.body()).getAsJsonObject();
        return answer.get(figure).getAsLong();
    }

    private URI url(String path) {
        return URI.create("http://" + gateway.address() + path);
    }

    private interface Condition {
        boolean holds() throws IOException, InterruptedException;
    }

    private static void await(String what, Condition condition) throws IOException, InterruptedException {
        long limit = System.nanoTime() + LIMIT_MS * 1_000_000;
        while (!condition.holds()) {
            if (System.nanoTime() > limit) {
                throw new IOException("waited " + LIMIT_MS + " ms for " + what);
            }
            Thread.sleep(POLL_MS);
        }
    }
}
