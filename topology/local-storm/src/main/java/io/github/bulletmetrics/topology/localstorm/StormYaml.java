package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Json;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Writes {@code storm.yaml}. Each value is JSON on its line, which YAML contains. */
final class StormYaml {
    private static final Pattern PLAIN = Pattern.compile("-?\\d+(\\.\\d+)?([eE][-+]?\\d+)?|true|false|null");

    private StormYaml() {
    }

    /** A setting given on the command line: its text stands in the YAML as it is. */
    private record Verbatim(String text) {
    }

    static String render(Map<String, Object> settings) {
        return settings.entrySet().stream()
            .map(setting -> Json.write(setting.getKey()) + ": " + value(setting.getValue()) + "\n")
            .collect(Collectors.joining());
    }

    /**
     * Reads {@code storm.key=value} as Storm's own {@code -c} does: numbers, true, false, null, and JSON lists, maps
     * and strings are what they look like; anything else is a string.
     */
    static Object parse(String value) {
        boolean json = PLAIN.matcher(value).matches() || enclosed(value, '[', ']') || enclosed(value, '{', '}')
            || enclosed(value, '"', '"');
        return json ? new Verbatim(value) : value;
    }

    private static boolean enclosed(String value, char open, char close) {
        return value.length() > 1 && value.charAt(0) == open && value.charAt(value.length() - 1) == close;
    }

    private static String value(Object value) {
        return value instanceof Verbatim verbatim ? verbatim.text() : Json.write(value);
    }
}
