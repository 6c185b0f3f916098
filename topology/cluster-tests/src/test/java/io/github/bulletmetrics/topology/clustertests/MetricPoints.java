package io.github.bulletmetrics.topology.clustertests;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The data points in a file of the capture consumer. */
final class MetricPoints {
    private MetricPoints() {
    }

    /** Those that are written whole; the last line may still be on its way. */
    static List<JsonObject> read(Path file) throws IOException {
        List<JsonObject> points = new ArrayList<>();
        for (String line : Files.readAllLines(file)) {
            try {
                JsonObject point = new JsonParser().parse(line).getAsJsonObject();
                if (point.has("name")) {
                    points.add(point);
                }
            } catch (JsonParseException | IllegalStateException unfinished) {
                break;
            }
        }
        return points;
    }
}
