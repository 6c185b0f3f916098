package io.github.bulletmetrics.topology.capture;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;

import org.apache.storm.metric.api.IMetricsConsumer;
import org.apache.storm.task.IErrorReporter;
import org.apache.storm.task.TopologyContext;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * Writes every data point that Storm hands to a metrics consumer as a line of JSON: {@code now} (this clock, ms),
 * {@code ts} and {@code interval} (s), {@code host}, {@code port}, {@code component}, {@code task}, {@code name},
 * {@code class}, for a map {@code keyClasses} and {@code valueClasses}, {@code dims}, {@code value};
 * and a line each for prepare and cleanup. The argument is a map whose {@value #FILE} is the path to append to; with
 * more than one task each needs its own, so {@code %d} in it stands for the task's id.
 */
public final class CaptureConsumer implements IMetricsConsumer {
    /** The name of the argument with the file's path. */
    public static final String FILE = "file";
    private static final Gson GSON = new GsonBuilder().serializeSpecialFloatingPointValues().disableHtmlEscaping()
            .create();

    private BufferedWriter out;

    @Override
    public void prepare(Map<String, Object> conf, Object argument, TopologyContext context, IErrorReporter errors) {
        if (!(argument instanceof Map<?, ?> map) || map.get(FILE) == null) {
            throw new IllegalArgumentException("CaptureConsumer needs the argument {\"" + FILE + "\": \"PATH\"}");
        }
        Path path = Path.of(map.get(FILE).toString().replace("%d", String.valueOf(context.getThisTaskId())));
        try {
            out = Files.newBufferedWriter(path, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot write the capture to " + path, e);
        }
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("event", "prepare");
        line.put("arg", argument);
        line.put("argClass", argument.getClass().getName());
        line.put("component", context.getThisComponentId());
        line.put("task", context.getThisTaskId());
        line.put("stormId", context.getStormId());
        line.put("workerPort", context.getThisWorkerPort());
        line.put("pid", ProcessHandle.current().pid());
        write(line);
    }

    @Override
    public void handleDataPoints(TaskInfo info, Collection<DataPoint> points) {
        for (DataPoint point : points) {
            write(line(info, point));
        }
    }

    @Override
    public void cleanup() {
        write(Map.of("event", "cleanup"));
    }

    private static Map<String, Object> line(TaskInfo info, DataPoint point) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("now", System.currentTimeMillis());
        line.put("ts", info.timestamp);
        line.put("interval", info.updateIntervalSecs);
        line.put("host", info.srcWorkerHost);
        line.put("port", info.srcWorkerPort);
        line.put("component", info.srcComponentId);
        line.put("task", info.srcTaskId);
        line.put("name", point.name);
        line.put("class", className(point.value));
        if (point.value instanceof Map<?, ?> map) {
            line.put("keyClasses", classNames(map.keySet()));
            line.put("valueClasses", classNames(map.values()));
        }
        Object dimensions = Dimensions.of(point);
        if (dimensions != null) {
            line.put("dims", plain(dimensions));
        }
        line.put("value", plain(point.value));
        return line;
    }

    private static TreeSet<String> classNames(Collection<?> values) {
        TreeSet<String> names = new TreeSet<>();
        values.forEach(value -> names.add(className(value)));
        return names;
    }

    private static String className(Object value) {
        return value == null ? "null" : value.getClass().getName();
    }

    /** What JSON has a form for as it is, anything else as text: Gson must not look into classes of others. */
    private static Object plain(Object value) {
        if (value == null || value instanceof Number || value instanceof String || value instanceof Boolean) {
            return value;
        }
        if (value instanceof Map<?, ?> map) {
            Map<String, Object> plain = new LinkedHashMap<>();
            map.forEach((key, entry) -> plain.put(String.valueOf(key), plain(entry)));
            return plain;
        }
        return value.toString();
    }

    private synchronized void write(Map<String, Object> line) {
        try {
            out.write(GSON.toJson(line));
            out.newLine();
            out.flush();
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot write the capture", e);
        }
    }
}
