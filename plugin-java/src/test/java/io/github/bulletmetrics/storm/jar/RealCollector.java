package io.github.bulletmetrics.storm.jar;

import static org.awaitility.Awaitility.await;

import com.google.gson.JsonArray;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The Go collector as a process, on free ports of 127.0.0.1. */
final class RealCollector implements AutoCloseable {
    private static final Pattern UP = Pattern.compile("collector is up.* grpc=(\\S+) http=(\\S+)");

    private final HttpClient client = HttpClient.newHttpClient();
    private final Process process;
    private final Path log;
    private final String grpc;
    private final String http;

    /** Where the build has put the program; null where it has not. */
    static Path binary() {
        Path binary = Path.of(System.getProperty("bullet.metrics.binary", "none"));
        return Files.isExecutable(binary) ? binary : null;
    }

    /** Starts it and waits until it is up. */
    RealCollector(Path directory, String... flags) throws IOException {
        List<String> command = new ArrayList<>(List.of(binary().toString(), "serve", "--data-dir",
                directory.resolve("data").toString(),
                "--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"));
        command.addAll(Arrays.asList(flags));
        log = directory.resolve("collector.log");
        process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
        await().atMost(Duration.ofSeconds(60)).until(() -> !process.isAlive() || UP.matcher(log()).find());
        Matcher up = UP.matcher(log());
        if (!up.find()) {
            throw new IOException("the collector did not start: " + log());
        }
        grpc = up.group(1);
        http = up.group(2);
    }

    /** The port that takes streams. */
    int port() {
        return Integer.parseInt(grpc.substring(grpc.lastIndexOf(':') + 1));
    }

    /** One of its own figures; 0 where it has none of that name. */
    double figure(String name) throws IOException, InterruptedException {
        Matcher line = Pattern.compile("(?m)^" + Pattern.quote(name) + " (\\S+)$").matcher(get("/metrics"));
        return line.find() ? Double.parseDouble(line.group(1)) : 0;
    }

    /** The sum of the newest values, of the last hour, of a metric's series; 0 where it has none. */
    double sum(String metric) throws IOException, InterruptedException {
        JsonArray found = JsonParser.parseString(get("/api/v1/query?query=" + URLEncoder.encode(
                "sum(last_over_time(" + metric + "[1h]))", StandardCharsets.UTF_8))).getAsJsonObject()
                .getAsJsonObject("data").getAsJsonArray("result");
        return found.isEmpty() ? 0 : found.get(0).getAsJsonObject().getAsJsonArray("value").get(1).getAsDouble();
    }

    private String get(String path) throws IOException, InterruptedException {
        return client.send(HttpRequest.newBuilder(URI.create("http://" + http + path)).build(),
                HttpResponse.BodyHandlers.ofString()).body();
    }

    String log() throws IOException {
        return Files.readString(log);
    }

    @Override
    public void close() throws InterruptedException {
        process.destroy();
        if (!process.waitFor(20, java.util.concurrent.TimeUnit.SECONDS)) {
            process.destroyForcibly().waitFor();
        }
    }
}
