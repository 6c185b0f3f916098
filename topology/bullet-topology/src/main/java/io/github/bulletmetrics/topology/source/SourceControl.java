package io.github.bulletmetrics.topology.source;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What the record source is to emit, over the whole topology. As JSON:
 * <pre>
 * {"records_per_second": 1000.0, "probes": [{"value": "probe-1", "per_second": 1.0}], "version": 3}
 * </pre>
 *
 * @param recordsPerSecond background records a second, 0 to {@value #MOST_PER_SECOND}, the probes' not counted.
 * @param probes at most {@value #MOST_PROBES}, each of another value.
 * @param version counts the changes; it decides nothing.
 */
public record SourceControl(double recordsPerSecond, List<Probe> probes, long version) implements Serializable {
    /** The highest rate of background records a second. */
    public static final double MOST_PER_SECOND = 10_000_000;
    /** How many probes there can be. */
    public static final int MOST_PROBES = 1_000;
    private static final Gson GSON = new Gson();

    /**
     * Checks and copies.
     *
     * @throws IllegalArgumentException states what is wrong and what it must be.
     */
    public SourceControl {
        if (!(recordsPerSecond >= 0 && recordsPerSecond <= MOST_PER_SECOND)) {
            throw new IllegalArgumentException(
                "records_per_second must be 0 to " + MOST_PER_SECOND + ", but is " + recordsPerSecond);
        }
        if (probes.size() > MOST_PROBES) {
            throw new IllegalArgumentException("Too many probes: " + probes.size() + "; the limit is "
                    + MOST_PROBES);
        }
        Set<String> values = new HashSet<>();
        for (Probe probe : probes) {
            if (!values.add(probe.value())) {
                throw new IllegalArgumentException("Probe " + probe.value() + " is given twice");
            }
        }
        probes = List.copyOf(probes);
    }

    /**
     * The same with another version.
     *
     * @param newVersion the version.
     * @return a new control.
     */
    public SourceControl withVersion(long newVersion) {
        return new SourceControl(recordsPerSecond, probes, newVersion);
    }

    /**
     * Whether another control asks for the same records, whatever its version.
     *
     * @param other the other one, or null.
     * @return true if so.
     */
    public boolean asksForTheSameAs(SourceControl other) {
        return other != null && recordsPerSecond == other.recordsPerSecond && probes.equals(other.probes);
    }

    /**
     * Writes the JSON above.
     *
     * @return one line.
     */
    public String toJson() {
        JsonObject json = new JsonObject();
        json.addProperty("records_per_second", recordsPerSecond);
        JsonArray array = new JsonArray();
        for (Probe probe : probes) {
            JsonObject entry = new JsonObject();
            entry.addProperty("value", probe.value());
            entry.addProperty("per_second", probe.perSecond());
            array.add(entry);
        }
        json.add("probes", array);
        json.addProperty("version", version);
        return GSON.toJson(json);
    }

    /**
     * Reads the JSON above. {@code probes} and {@code version} may be missing; an unknown name is an error.
     *
     * @param text the JSON.
     * @return a checked control.
     * @throws IllegalArgumentException states what is wrong and what it must be.
     */
    public static SourceControl fromJson(String text) {
        try {
            JsonObject json = new JsonParser().parse(text).getAsJsonObject();
            onlyKnown(json, Set.of("records_per_second", "probes", "version"));
            return new SourceControl(number(json, "records_per_second"), probes(json),
                                     json.has("version") ? json.get("version").getAsLong() : 0);
        } catch (JsonParseException | IllegalStateException | UnsupportedOperationException | NumberFormatException e) {
            throw new IllegalArgumentException("Not the JSON of a source control, which is {\"records_per_second\": 1000, "
                + "\"probes\": [{\"value\": \"probe-1\", \"per_second\": 1}]}: " + e.getMessage(), e);
        }
    }

    private static List<Probe> probes(JsonObject json) {
        List<Probe> probes = new ArrayList<>();
        if (json.has("probes")) {
            for (JsonElement element : json.get("probes").getAsJsonArray()) {
                JsonObject probe = element.getAsJsonObject();
                onlyKnown(probe, Set.of("value", "per_second"));
                probes.add(new Probe(required(probe, "value").getAsString(), number(probe, "per_second")));
            }
        }
        return probes;
    }

    private static double number(JsonObject json, String name) {
        return required(json, name).getAsDouble();
    }

    private static JsonElement required(JsonObject json, String name) {
        JsonElement element = json.get(name);
        if (element == null || element.isJsonNull()) {
            throw new IllegalArgumentException(name + " is missing");
        }
        return element;
    }

    private static void onlyKnown(JsonObject json, Set<String> known) {
        json.entrySet().forEach(entry -> {
            if (!known.contains(entry.getKey())) {
                throw new IllegalArgumentException("Unknown name " + entry.getKey() + "; known are " + known);
            }
        });
    }
}
