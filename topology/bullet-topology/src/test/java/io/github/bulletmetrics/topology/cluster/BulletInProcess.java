package io.github.bulletmetrics.topology.cluster;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.IdentityPubSubMessageSerDe;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.Wiring;
import io.github.bulletmetrics.topology.gateway.GatewayOptions;
import io.github.bulletmetrics.topology.gateway.GatewayServer;
import io.github.bulletmetrics.topology.source.SourceSettings;

import org.apache.storm.LocalCluster;
import org.apache.storm.generated.KillOptions;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The real topology on Storm's cluster in this process, with a real gateway before it, captured into a file. */
final class BulletInProcess {
    private static final String NAME = "bullet-in-process";

    private final HttpClient http = HttpClient.newHttpClient();
    private final Path captureFile;
    private final GatewayServer gateway;
    private final LocalCluster cluster;

    /** Starts all of it with the parallelism that the recorded captures had, and settings over that. */
    BulletInProcess(Path folder, Map<String, Object> settings) throws Exception {
        captureFile = folder.resolve("capture.jsonl");
        BulletStormConfig config = new BulletStormConfig();
        config.set(BulletConfig.PUBSUB_MESSAGE_SERDE_CLASS_NAME, IdentityPubSubMessageSerDe.class.getName());
        gateway = new GatewayServer(config, GatewayOptions.defaults(), new InetSocketAddress("127.0.0.1", 0), null);
        gateway.start();
        asCaptured(config);
        settings.forEach(config::set);
        config.validate();
        cluster = new LocalCluster();
        cluster.submitTopology(NAME, Wiring.stormConfig(config), Wiring.topology(config));
    }

    private void asCaptured(BulletStormConfig config) {
        Map.of("filter.bolt", 4, "join.bolt", 2, "query.spout", 2, "result.bolt", 1, "loop.bolt", 1, "bullet.spout", 2,
                "replay.bolt", 2)
            .forEach((component, executors) -> config.set("bullet.topology." + component + ".parallelism", executors));
        config.set("bullet.topology.custom.topology.acker.executors", 1);
        config.set("bullet.topology.metrics.enable", true);
        config.set("bullet.topology.metrics.built.in.enable", true);
        config.set("bullet.topology.metrics.classes", List.of(RegisteredCapture.class.getName()));
        // Real Bullet has none.
        config.set(SourceSettings.METRICS_ENABLE, false);
        config.set(RegisteredCapture.FILE, captureFile.toString());
        config.set("bullet.pubsub.rest.query.urls", List.of(url(GatewayServer.PUBSUB_QUERY).toString()));
        config.set("bullet.pubsub.rest.result.url", url(GatewayServer.PUBSUB_RESULT).toString());
        config.set("bullet.topology.generator.control.url", url(GatewayServer.SOURCE_CONTROL).toString());
    }

    private URI url(String path) {
        return URI.create("http://" + gateway.address() + path);
    }

    Capture capture() {
        return Capture.soFar(captureFile);
    }

    CompletableFuture<HttpResponse<String>> query(String bql) {
        return http.sendAsync(HttpRequest.newBuilder(url(GatewayServer.QUERIES)).header("Content-Type", "text/plain")
            .POST(HttpRequest.BodyPublishers.ofString(bql)).build(), HttpResponse.BodyHandlers.ofString());
    }

    JsonObject get(String path) throws IOException, InterruptedException {
        return json(http.send(HttpRequest.newBuilder(url(path)).build(), HttpResponse.BodyHandlers.ofString()));
    }

    JsonObject control(String json) throws IOException, InterruptedException {
        return json(http.send(HttpRequest.newBuilder(url(GatewayServer.SOURCE_CONTROL))
            .PUT(HttpRequest.BodyPublishers.ofString(json)).build(), HttpResponse.BodyHandlers.ofString()));
    }

    /** Sends what a web service, or the loop bolt, would. */
    void signal(PubSubMessage message) throws IOException, InterruptedException {
        int status = http.send(HttpRequest.newBuilder(url(GatewayServer.PUBSUB_QUERY))
            .POST(HttpRequest.BodyPublishers.ofString(message.asJSON())).build(),
            HttpResponse.BodyHandlers.discarding()).statusCode();
        if (status != 200) {
            throw new IOException("The gateway refused " + message + " with " + status);
        }
    }

    static JsonObject json(HttpResponse<String> response) {
        return new JsonParser().parse(response.body()).getAsJsonObject();
    }

    void stop() throws Exception {
        KillOptions now = new KillOptions();
        now.set_wait_secs(0);
        cluster.killTopologyWithOpts(NAME, now);
        cluster.close();
        gateway.close();
    }
}
