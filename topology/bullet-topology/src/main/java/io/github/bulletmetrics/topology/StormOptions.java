package io.github.bulletmetrics.topology;

import com.google.gson.GsonBuilder;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The settings that {@code storm jar} took for itself ({@code -c}) and hands on in the system property
 * {@code storm.options}: {@code name=value} each, URL-encoded, joined by commas. Storm reads a value as JSON, or else
 * as text; here it is YAML, so that {@code -c} means the same whoever reads it.
 */
final class StormOptions {
    private static final String PROPERTY = "storm.options";

    private StormOptions() {
    }

    /** The names and texts as they were given. */
    static Map<String, String> read() {
        Map<String, String> options = new LinkedHashMap<>();
        for (String option : System.getProperty(PROPERTY, "").split(",")) {
            String[] nameAndValue = URLDecoder.decode(option, StandardCharsets.UTF_8).split("=", 2);
            if (nameAndValue.length == 2) {
                options.put(nameAndValue[0], nameAndValue[1]);
            }
        }
        return options;
    }

    /**
     * Replaces them by these, as JSON: StormSubmitter lays them over what it is given, and would make texts of lists.
     */
    static void write(Map<String, Object> settings) {
        System.setProperty(PROPERTY,
                settings.entrySet().stream().map(StormOptions::option).collect(Collectors.joining(",")));
    }

    private static String option(Map.Entry<String, Object> setting) {
        String json = new GsonBuilder().serializeNulls().create().toJson(setting.getValue());
        return URLEncoder.encode(setting.getKey() + "=" + json, StandardCharsets.UTF_8);
    }
}
