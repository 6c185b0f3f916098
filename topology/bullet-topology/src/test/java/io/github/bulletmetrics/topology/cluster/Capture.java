package io.github.bulletmetrics.topology.cluster;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The data points of a capture file, in their order. */
record Capture(List<Point> points) {
    /** One data point; the value is a JSON number or a map. */
    record Point(String component, int task, String name, String type, long interval, JsonElement value) {
        boolean isBullets() {
            return name.startsWith("bullet_");
        }
    }

    /** What a running topology has written so far; nothing before its consumer has started. */
    static Capture soFar(Path file) {
        return Files.exists(file) ? read(file) : new Capture(List.of());
    }

    static Capture read(Path file) {
        List<Point> points = new ArrayList<>();
        try {
            for (String line : Files.readAllLines(file)) {
                JsonObject json = parse(line);
                if (json != null && json.has("name")) {
                    points.add(point(json));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new Capture(points);
    }

    /** Null for a line that is still being written. */
    private static JsonObject parse(String line) {
        return line.endsWith("}") ? new JsonParser().parse(line).getAsJsonObject() : null;
    }

    private static Point point(JsonObject json) {
        return new Point(json.get("component").getAsString(), json.get("task").getAsInt(),
                json.get("name").getAsString(),
            json.get("class").getAsString(), json.get("interval").getAsLong(), json.get("value"));
    }
}
