package io.github.bulletmetrics.topology.gateway;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import io.github.bulletmetrics.topology.source.SourceControl;
import io.github.bulletmetrics.topology.source.SourceReport;

import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** Keeps what the record source is to emit, and what its tasks last said that they have done. Thread-safe. */
final class SourceDesk {
    /** The most tasks kept; a report of one more is refused. */
    static final int MOST_TASKS = 10_000;
    private static final long FORGET_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Map<String, Received> reports = new TreeMap<>();
    private SourceControl control;

    private record Received(SourceReport report, long atNanos) {
    }

    SourceDesk(SourceControl control) {
        this.control = control.withVersion(1);
    }

    synchronized SourceControl control() {
        return control;
    }

    /** Changes what is to be emitted; the version goes up if that is something else. */
    synchronized SourceControl change(SourceControl next) {
        if (!next.asksForTheSameAs(control)) {
            control = next.withVersion(control.version() + 1);
        }
        return control;
    }

    /** False when there are too many tasks. */
    synchronized boolean report(SourceReport report) {
        forgetSilent();
        String key = report.topology() + "/" + report.task();
        if (reports.size() >= MOST_TASKS && !reports.containsKey(key)) {
            return false;
        }
        reports.put(key, new Received(report, System.nanoTime()));
        notifyAll();
        return true;
    }

    /** Looks at the {@link #status} after each report, until it is as wanted or the time is up; returns the last. */
    synchronized JsonObject await(Predicate<JsonObject> wanted, long limitMs) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMs);
        JsonObject status = status();
        for (long left = limitMs; left > 0 && !wanted.test(status); status = status()) {
            wait(left);
            left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        }
        return status;
    }

    /**
     * What the tasks of the last 10 s said: {@code version} is the control's, {@code following} the number of tasks
     * that follow it, {@code reporting} the number of all; then the sums, then each.
     */
    synchronized JsonObject status() {
        forgetSilent();
        long following = reports.values().stream().filter(received -> received.report().version() == control.version())
                .count();
        JsonObject json = new JsonObject();
        json.addProperty("version", control.version());
        json.addProperty("following", following);
        json.addProperty("reporting", reports.size());
        for (String sum : new String[] {"emitted", "acked", "failed", "lag", "left_out", "control_failures"}) {
            json.addProperty(sum, reports.values().stream()
                .mapToLong(received -> received.report().toJson().get(sum).getAsLong()).sum());
        }
        JsonArray tasks = new JsonArray();
        reports.values().forEach(received -> tasks.add(task(received)));
        json.add("tasks", tasks);
        return json;
    }

    private static JsonObject task(Received received) {
        JsonObject json = received.report().toJson();
        json.addProperty("age_ms", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - received.atNanos()));
        return json;
    }

    private void forgetSilent() {
        long now = System.nanoTime();
        reports.values().removeIf(received -> now - received.atNanos() > FORGET_NANOS);
    }
}
