package io.github.bulletmetrics.topology.clustertests;

import static org.awaitility.Awaitility.await;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/**
 * The finished topology, submitted to a cluster, with a gateway process before it: what a user has who followed the
 * README. Settings are the sample's, then this class', then the test's.
 */
final class Bullet implements AutoCloseable {
    static final String MAIN = "io.github.bulletmetrics.topology.BulletTopology";
    private static final String GATEWAY = "io.github.bulletmetrics.topology.gateway.QueryGateway";
    private static final Duration GATEWAY_LIMIT = Duration.ofSeconds(180);
    private static final Duration RUNNING_LIMIT = Duration.ofSeconds(300);

    private final HttpClient http = HttpClient.newHttpClient();
    private final StormCluster cluster;
    private final String name;
    private final Child gateway;
    private final String address;

    private Bullet(StormCluster cluster, String name, Child gateway) {
        this.cluster = cluster;
        this.name = name;
        this.gateway = gateway;
        address = new JsonParser().parse(gateway.firstLine(GATEWAY_LIMIT)).getAsJsonObject().get("address")
                .getAsString();
    }

    /**
     * Starts a gateway and a topology, and returns when every task of the record source has had records acked and a
     * query has been answered.
     *
     * @param name the topology's name, and that of its log folder.
     * @param settings laid over the sample's, as {@code -c} does it: {@code bullet.*} or Storm's.
     */
    static Bullet start(StormCluster cluster, String name, Map<String, Object> settings) throws IOException,
            InterruptedException {
        Map<String, Object> all = new LinkedHashMap<>(small());
        all.putAll(settings);
        Bullet bullet = gateway(cluster, name, arguments(all));
        try {
            all.putAll(bullet.addresses());
            cluster.submit(name, MAIN, arguments(all));
            bullet.awaitRunning();
            return bullet;
        } catch (IOException | InterruptedException | RuntimeException | AssertionError e) {
            System.err.println(bullet.gateway.tail());
            bullet.close();
            throw e;
        }
    }

    /** Only the gateway; the topology of that name is yet to be submitted. */
    static Bullet gateway(StormCluster cluster, String name, List<String> settings) throws IOException {
        List<String> arguments = new ArrayList<>(List.of("-Xmx256m", "-cp", StormCluster.TOPOLOGY_JAR.toString(),
                GATEWAY,
            "--listen", "127.0.0.1:0", "--heartbeat-ms", "250", "--stop-with-stdin"));
        arguments.addAll(settings);
        return new Bullet(cluster, name, Child.java("gateway", cluster.folder().resolve(name), cluster.folder(),
                arguments));
    }

    /** The settings with which a topology finds this gateway. */
    Map<String, Object> addresses() {
        return Map.of("bullet.pubsub.rest.query.urls", List.of(url("/api/bullet/pubsub/query").toString()),
            "bullet.topology.generator.control.url", url("/api/source/control").toString());
    }

    /**
     * Two workers that share two cores with everything else, and answers that are whole however late a filter bolt gets
     * to run.
     */
    static Map<String, Object> small() {
        Map<String, Object> settings = new LinkedHashMap<>();
        settings.put("bullet.topology.metrics.enable", false);
        settings.put("bullet.topology.join.bolt.query.post.finish.buffer.ticks", 30);
        settings.put("bullet.topology.generator.records.per.second", 50);
        settings.put("bullet.topology.generator.control.poll.interval.ms", 200);
        return settings;
    }

    static List<String> arguments(Map<String, Object> settings) {
        List<String> arguments = new ArrayList<>(List.of("--bullet-conf", StormCluster.SAMPLE_SETTINGS.toString()));
        settings.forEach((key, value) -> arguments.addAll(List.of("-c", key + "=" + new Gson().toJson(value))));
        return arguments;
    }

    /** Returns when every task of the record source has had records acked and a query has been answered. */
    void awaitRunning() {
        await("every task of the source to have records acked").atMost(RUNNING_LIMIT).until(this::sourceRuns);
        await("a query to be answered").atMost(RUNNING_LIMIT)
            .until(() -> query("SELECT record_id FROM STREAM(500, TIME) LIMIT 1").get().statusCode() == 200);
    }

    private boolean sourceRuns() throws IOException, InterruptedException {
        JsonObject status = get("/api/source/status");
        for (JsonElement task : status.getAsJsonArray("tasks")) {
            if (task.getAsJsonObject().get("acked").getAsLong() == 0) {
                return false;
            }
        }
        return status.get("reporting").getAsInt() > 0 && status.get("following").equals(status.get("reporting"));
    }

    /** POSTs BQL to sse-query. The results so far can be asked for at any time; closing it is a client that goes. */
    ResultStream stream(String bql) throws IOException, InterruptedException {
        return new ResultStream(http.send(HttpRequest.newBuilder(url("/api/bullet/queries/sse-query"))
            .POST(BodyPublishers.ofString(bql)).build(), BodyHandlers.ofInputStream()));
    }

    /** Where the gateway serves a path. */
    URI url(String path) {
        return URI.create("http://" + address + path);
    }

    HttpClient http() {
        return http;
    }

    /** POSTs BQL to http-query; several may wait at once. */
    CompletableFuture<HttpResponse<String>> query(String bql) {
        return post("/api/bullet/queries/http-query", bql);
    }

    CompletableFuture<HttpResponse<String>> post(String path, String body) {
        return http.sendAsync(HttpRequest.newBuilder(url(path)).header("Content-Type", "text/plain")
            .POST(BodyPublishers.ofString(body)).build(), BodyHandlers.ofString());
    }

    JsonObject get(String path) throws IOException, InterruptedException {
        return json(http.send(HttpRequest.newBuilder(url(path)).build(), BodyHandlers.ofString()));
    }

    /**
     * Changes what the source emits, and returns when every task does. The JSON is that of
     * {@code PUT /api/source/control}.
     */
    void emit(String control) throws IOException, InterruptedException {
        HttpResponse<String> changed = http.send(HttpRequest.newBuilder(url("/api/source/control"))
            .PUT(BodyPublishers.ofString(control)).build(), BodyHandlers.ofString());
        if (changed.statusCode() != 200) {
            throw new AssertionError("the gateway refused " + control + ": " + changed.body());
        }
        await("every task of the source to follow").atMost(RUNNING_LIMIT).until(this::sourceRuns);
    }

    static JsonObject json(HttpResponse<String> response) {
        return new JsonParser().parse(response.body()).getAsJsonObject();
    }

    /** The topology's live worker processes. */
    List<StormCluster.Worker> workers() throws IOException, InterruptedException {
        return cluster.workers(name);
    }

    /** The end of the gateway's log. */
    String gatewayLog() {
        return gateway.tail();
    }

    /** Kills the topology, then the gateway. */
    @Override
    public void close() throws IOException, InterruptedException {
        try {
            if (cluster.run("status").stdout().contains("\"name\":\"" + name + "\"")) {
                cluster.kill(name);
            }
        } finally {
            gateway.close();
        }
    }
}
