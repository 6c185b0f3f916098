package io.github.bulletmetrics.topology.source;

import com.google.gson.JsonObject;
import com.google.gson.JsonParseException;
import com.google.gson.JsonParser;

/**
 * What one task of the record source has done since its start. As JSON:
 * <pre>
 * {"topology": "bullet-1-1795199763", "task": 3, "version": 2, "emitted": 60000, "acked": 59990, "failed": 0,
 *  "lag": 0, "left_out": 0, "control_failures": 0}
 * </pre>
 *
 * @param topology the topology's id.
 * @param task the task's id.
 * @param version the version of the control that it follows.
 * @param emitted records emitted, the probes' included.
 * @param acked records that every query has seen.
 * @param failed records that Storm failed.
 * @param lag records due and not yet emitted: above 0 for long, the topology does not keep up.
 * @param leftOut records never emitted, since they were too late.
 * @param controlFailures questions for the control that failed.
 */
public record SourceReport(String topology, int task, long version, long emitted, long acked, long failed, long lag,
                           long leftOut, long controlFailures) {
    /**
     * Makes the JSON above.
     *
     * @return a new object.
     */
    public JsonObject toJson() {
        JsonObject json = new JsonObject();
        json.addProperty("topology", topology);
        json.addProperty("task", task);
        json.addProperty("version", version);
        json.addProperty("emitted", emitted);
        json.addProperty("acked", acked);
        json.addProperty("failed", failed);
        json.addProperty("lag", lag);
        json.addProperty("left_out", leftOut);
        json.addProperty("control_failures", controlFailures);
        return json;
    }

    /**
     * Reads the JSON above.
     *
     * @param text the JSON.
     * @return the report.
     * @throws IllegalArgumentException when it is not one.
     */
    public static SourceReport fromJson(String text) {
        try {
            JsonObject json = new JsonParser().parse(text).getAsJsonObject();
            return new SourceReport(json.get("topology").getAsString(), json.get("task").getAsInt(),
                    number(json, "version"),
                number(json, "emitted"), number(json, "acked"), number(json, "failed"), number(json, "lag"),
                number(json, "left_out"), number(json, "control_failures"));
        } catch (JsonParseException | IllegalStateException | UnsupportedOperationException | NumberFormatException
                 | NullPointerException e) {
            throw new IllegalArgumentException("Not a report of a record source: " + e.getMessage(), e);
        }
    }

    private static long number(JsonObject json, String name) {
        return json.get(name).getAsLong();
    }
}
