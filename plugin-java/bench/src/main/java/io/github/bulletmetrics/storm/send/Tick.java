package io.github.bulletmetrics.storm.send;

import io.github.bulletmetrics.storm.flatten.Flattener;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One metrics tick of a topology of 1,162 executors (Test 5 of the Bullet document), one task each, on 100 workers: 15
 * numbers and 5 maps of 2 numbers a task. All texts are new Strings, as Kryo makes them, so that their hashes are not
 * known yet.
 */
final class Tick {
    static final int EXECUTORS = 1_162;
    static final int NUMBERS = EXECUTORS * (15 + 5 * 2);
    private static final int WORKERS = 100;

    private final List<Report> reports = new ArrayList<>();

    private static final class Report {
        String host;
        int port;
        String component;
        int task;
        final String[] names = new String[20];
        final Object[] values = new Object[20];
    }

    Tick() {
        for (int task = 1; task <= EXECUTORS; task++) {
            reports.add(report(task));
        }
    }

    private static Report report(int task) {
        Report report = new Report();
        report.host = fresh("worker-" + task % WORKERS + ".storm.example");
        report.port = 6700 + task % 4;
        report.component = fresh(task % 10 == 0 ? "DataSource" : "FilterBolt");
        report.task = task;
        for (int i = 0; i < 20; i++) {
            report.names[i] = fresh("receive-queue-population-" + i);
            report.values[i] = i < 15 ? i % 2 == 0 ? (Object) (double) (task * i) : (Object) (long) (task * i)
                    : map(task * i);
        }
        return report;
    }

    private static Map<String, Long> map(long value) {
        Map<String, Long> map = new HashMap<>();
        map.put(fresh("DataSource:default"), value);
        map.put(fresh("QuerySpout:metadata"), value + 1);
        return map;
    }

    private static String fresh(String text) {
        return new String(text.toCharArray());
    }

    void flatten(Flattener into, long timestampSeconds) {
        for (int r = 0; r < reports.size(); r++) {
            Report report = reports.get(r);
            into.begin(report.host, report.port, report.component, report.task, timestampSeconds, 60, 0);
            for (int i = 0; i < report.names.length; i++) {
                into.add(report.names[i], report.values[i]);
            }
            into.end();
        }
    }
}
