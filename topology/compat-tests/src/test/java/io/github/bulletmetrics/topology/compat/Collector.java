package io.github.bulletmetrics.topology.compat;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.EOFException;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The collector, {@code build/bullet-metrics serve}, in a process of its own on free ports. */
final class Collector implements AutoCloseable {
    private static final Pattern UP = Pattern.compile("collector is up.* grpc=(\\S+) http=(\\S+)");
    private static final int START_LIMIT_SECONDS = 60;
    private static final int STOP_LIMIT_SECONDS = 30;

    private final HttpClient client = HttpClient.newHttpClient();
    private final SliceEvents events = new SliceEvents();
    private final Process process;
    private final String grpc;
    private final String http;

    /**
     * A sample.
     *
     * @param ms since the Unix epoch.
     * @param value a histogram's is its count.
     */
    record Point(long ms, double value) {
    }

    /**
     * A series of an answer.
     *
     * @param points of an instant query one, of a range of samples all, oldest first.
     */
    record Series(Map<String, String> labels, List<Point> points) {
        double value() {
            return last().value();
        }

        Point last() {
            return points.get(points.size() - 1);
        }

        String label(String name) {
            return labels.getOrDefault(name, "");
        }
    }

    /** Starts one, with slices as narrow as the topologies' intervals, and returns when it is up. */
    Collector(Path folder) throws IOException, InterruptedException {
        Path log = folder.resolve("collector.log");
        process = new ProcessBuilder(binary().toString(), "serve", "--data-dir", folder.resolve("data").toString(),
                "--grpc-listen", "127.0.0.1:0",
            "--http-listen", "127.0.0.1:0", "--slice-width", SmallTopology.INTERVAL_SECONDS + "s", "--slice-lateness",
            "5s", "--store-remote-write-url", "events=" + events.url())
            .redirectErrorStream(true).start();
        CompletableFuture<Matcher> up = new CompletableFuture<>();
        Thread follower = new Thread(() -> follow(log, up), "collector-log");
        follower.setDaemon(true);
        follower.start();
        try {
            Matcher addresses = up.get(START_LIMIT_SECONDS, TimeUnit.SECONDS);
            grpc = addresses.group(1);
            http = addresses.group(2);
        } catch (ExecutionException | TimeoutException e) {
            close();
            throw new IOException("The collector did not start: " + Files.readString(log), e);
        }
    }

    /** Copies what the process writes into a file until its end, and finds where it listens. */
    private void follow(Path log, CompletableFuture<Matcher> up) {
        try (BufferedReader lines = process.inputReader(); BufferedWriter copy = Files.newBufferedWriter(log)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                copy.write(line);
                copy.newLine();
                copy.flush();
                Matcher addresses = UP.matcher(line);
                if (addresses.find()) {
                    up.complete(addresses);
                }
            }
            up.completeExceptionally(new EOFException("its output has ended"));
        } catch (IOException e) {
            up.completeExceptionally(e);
        }
    }

    static Path binary() {
        return Setup.repository().resolve("build/bullet-metrics");
    }

    /** Where plugins send to. */
    String grpc() {
        return grpc;
    }

    /** Slices that closed, and what else those who ask for them have to look at. */
    SliceEvents events() {
        return events;
    }

    /** Answers PromQL as of now. */
    List<Series> ask(String promql) throws IOException, InterruptedException {
        String query = URLEncoder.encode(promql, StandardCharsets.UTF_8);
        HttpResponse<String> response =
                client.send(HttpRequest.newBuilder(URI.create("http://" + http + "/api/v1/query?query="
                + query)).build(),
            HttpResponse.BodyHandlers.ofString());
        JsonObject answer = new JsonParser().parse(response.body()).getAsJsonObject();
        if (!answer.get("status").getAsString().equals("success")) {
            throw new IOException(promql + " was answered with " + response.body());
        }
        List<Series> found = new ArrayList<>();
        for (JsonElement each : answer.getAsJsonObject("data").getAsJsonArray("result")) {
            found.add(series(each.getAsJsonObject()));
        }
        return found;
    }

    private static Series series(JsonObject result) {
        Map<String, String> labels = new HashMap<>();
        result.getAsJsonObject("metric").entrySet()
                .forEach(label -> labels.put(label.getKey(), label.getValue().getAsString()));
        List<Point> points = new ArrayList<>();
        for (String form : new String[] {"value", "histogram"}) {
            if (result.has(form)) {
                points.add(point(result.getAsJsonArray(form)));
            }
            if (result.has(form + "s")) {
                result.getAsJsonArray(form + "s").forEach(pair -> points.add(point(pair.getAsJsonArray())));
            }
        }
        return new Series(labels, points);
    }

    private static Point point(JsonArray pair) {
        JsonElement value = pair.get(1);
        double number = Double.parseDouble(value.isJsonObject() ? value.getAsJsonObject().get("count").getAsString()
                : value.getAsString());
        return new Point(Math.round(pair.get(0).getAsDouble() * 1000), number);
    }

    /** One of its own figures. */
    double figure(String name) throws IOException, InterruptedException {
        HttpResponse<String> metrics =
                client.send(HttpRequest.newBuilder(URI.create("http://" + http + "/metrics")).build(),
            HttpResponse.BodyHandlers.ofString());
        Matcher line = Pattern.compile("(?m)^" + Pattern.quote(name) + " (\\S+)$").matcher(metrics.body());
        if (!line.find()) {
            throw new IOException("The collector has no figure " + name);
        }
        return Double.parseDouble(line.group(1));
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(STOP_LIMIT_SECONDS, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        events.close();
    }
}
