package io.github.bulletmetrics.topology.clustertests;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

/** The results of a query that is streamed, read as they come by a thread of its own. */
final class ResultStream implements AutoCloseable {
    private static final String DATA = "data:";

    private final InputStream body;
    private final List<JsonObject> results = new CopyOnWriteArrayList<>();
    private final CompletableFuture<List<JsonObject>> ended = new CompletableFuture<>();

    /** @throws AssertionError when the query was refused */
    ResultStream(HttpResponse<InputStream> answer) throws IOException {
        body = answer.body();
        if (answer.statusCode() != 200) {
            throw new AssertionError(answer.statusCode() + " " + new String(body.readAllBytes(),
                    StandardCharsets.UTF_8));
        }
        Thread reader = new Thread(this::read, "result-stream");
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(body, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.startsWith(DATA)) {
                    results.add(new JsonParser().parse(line.substring(DATA.length())).getAsJsonObject());
                }
            }
            ended.complete(results);
        } catch (IOException | RuntimeException e) {
            ended.completeExceptionally(e);
        }
    }

    /** Those that have come. */
    List<JsonObject> results() {
        return results;
    }

    /** All, when the stream has ended. */
    CompletableFuture<List<JsonObject>> ended() {
        return ended;
    }

    @Override
    public void close() throws IOException {
        body.close();
    }
}
