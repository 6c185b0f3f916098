package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import org.junit.jupiter.api.Test;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarFile;

/** The finished jar: what is in it, and its gateway as a process of its own. */
class JarIT {
    private static final Path JAR = Path.of(System.getProperty("bullet.topology.jar"));
    private static final String GATEWAY = "io.github.bulletmetrics.topology.gateway.QueryGateway";

    private final HttpClient http = HttpClient.newHttpClient();

    @Test
    void holdsBulletAndNeitherStormNorThePlugin() throws Exception {
        List<String> names;
        try (JarFile jar = new JarFile(JAR.toFile())) {
            names = jar.stream().map(entry -> entry.getName()).toList();
        }
        assertThat(names).contains("com/yahoo/bullet/storm/SpoutConnector.class",
                "com/yahoo/bullet/dsl/connector/KafkaConnector.class",
            "org/apache/kafka/clients/consumer/KafkaConsumer.class", "generated_records_dsl_schema.json",
            "com/yahoo/bullet/querying/Querier.class", "com/yahoo/bullet/storm/BulletStormConfig.class",
            "io/github/bulletmetrics/topology/BulletTopology.class", "bullet_storm_defaults.yaml",
            // by which the metrics plugin knows Bullet's version
            "META-INF/maven/com.yahoo.bullet/bullet-core/pom.properties");
        assertThat(names).noneMatch(name -> name.startsWith("org/apache/storm/") || name.startsWith("kafka/server/"))
            .noneMatch(name -> name.startsWith("io/github/bulletmetrics/storm/"))
            .noneMatch(name -> name.startsWith("org/apache/logging/"))
            .noneMatch(name -> name.startsWith("META-INF/services/org.slf4j"))
            .noneMatch(name -> name.endsWith(".SF") || name.endsWith(".RSA") || name.endsWith(".DSA"));
    }

    @Test
    void theGatewayServesUntilSigtermAndAnswersThoseWhoWait() throws Exception {
        Process process = start("--listen", "127.0.0.1:0", "--bullet-conf", "conf/bullet_settings.yaml");
        try {
            String address = ready(process);
            CompletableFuture<HttpResponse<String>> held = http.sendAsync(
                HttpRequest.newBuilder(URI.create("http://" + address + "/api/bullet/queries/http-query"))
                    .POST(BodyPublishers.ofString("SELECT * FROM STREAM(60000, TIME) LIMIT 1")).build(),
                    BodyHandlers.ofString());
            await("the query to be held").until(() -> stats(address).get("active").getAsInt() == 1);

            process.destroy();

            assertThat(process.waitFor(10, TimeUnit.SECONDS)).as("ends in time").isTrue();
            assertThat(held.get().statusCode()).isEqualTo(503);
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void wrongUsageEndsWithTwoAndAMissingFileWithOne() throws Exception {
        assertThat(start("--no-such-option").waitFor()).isEqualTo(2);
        assertThat(start("--bullet-conf", "no-such-file.yaml").waitFor()).isEqualTo(1);
    }

    private static Process start(String... arguments) throws Exception {
        List<String> command = new java.util.ArrayList<>(
            List.of(ProcessHandle.current().info().command().orElse("java"), "-cp", JAR.toString(), GATEWAY));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    }

    private static String ready(Process process) throws Exception {
        BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(),
                StandardCharsets.UTF_8));
        JsonObject line = new JsonParser().parse(out.readLine()).getAsJsonObject();
        assertThat(line.get("ready").getAsBoolean()).isTrue();
        return line.get("address").getAsString();
    }

    private JsonObject stats(String address) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + address + "/api/stats")).build();
        return new JsonParser().parse(http.send(request, BodyHandlers.ofString()).body()).getAsJsonObject();
    }
}
