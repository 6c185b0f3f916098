package io.github.bulletmetrics.storm.queue;

import io.github.bulletmetrics.storm.proto.v1.WorkerClock;
import io.github.bulletmetrics.storm.proto.v1.WorkerInfo;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The known facts about the workers whose samples passed through this consumer.
 *
 * <p>Every change gets the next version number, so that a reader can ask for the changes since a version. Thread-safe.
 * A report without changes allocates nothing.
 */
public final class Workers {
    /** Workers held; the one that changed longest ago makes room for a further one. */
    static final int MAX_WORKERS = 4_096;
    /** Tasks whose place is known: those with lower numbers. Storm numbers them from 1. */
    static final int MAX_TASKS = 100_000;
    private static final int FIRST_TASKS = 64;

    /** By "host:port", the one that changed longest ago first. */
    private final Map<String, Worker> workers = new LinkedHashMap<>();
    /** By task: the worker that sent its newest report, and the event time of that report. */
    private Worker[] workerOfTask = new Worker[FIRST_TASKS];
    private long[] reportedMs = new long[FIRST_TASKS];
    private long changes;
    private boolean clocksRead;
    private volatile long version;

    /** The worker at a place, for {@link #process} and {@link #report}; the caller keeps it. */
    public synchronized Worker worker(String host, int port) {
        String name = name(host, port);
        Worker worker = workers.get(name);
        if (worker == null) {
            worker = new Worker(host, port);
            hold(worker);
        }
        return worker;
    }

    /**
     * A worker's process, as its sampler reported it. One that started before the known one is no news: its report was
     * late.
     */
    public synchronized void process(Worker worker, long pid, long startTimeMs) {
        if (worker.pid == pid && worker.startTimeMs == startTimeMs || startTimeMs < worker.startTimeMs) {
            return;
        }
        worker.pid = pid;
        worker.startTimeMs = startTimeMs;
        changed(worker);
    }

    /**
     * Records a pack of a worker's sampler.
     *
     * @param sentByWorkerMs when the worker sent it, ms since the Unix epoch, by the worker's clock; 0 if unknown.
     * @param receivedMs when it was received, ms since the Unix epoch, by the clock of this process.
     */
    public synchronized void packReceived(Worker worker, long sentByWorkerMs, long receivedMs) {
        if (sentByWorkerMs > 0 && !worker.forgotten) {
            worker.sentByWorkerMs = sentByWorkerMs;
            worker.receivedMs = receivedMs;
            clocksRead = true;
        }
    }

    /** The clocks of the workers whose packs came since the last call. */
    public synchronized List<WorkerClock> takeClocks() {
        if (!clocksRead) {
            return Collections.emptyList();
        }
        clocksRead = false;
        List<WorkerClock> clocks = new ArrayList<>();
        for (Worker worker : workers.values()) {
            if (worker.sentByWorkerMs > 0) {
                clocks.add(WorkerClock.newBuilder().setHost(worker.host).setPort(worker.port).setHandOverTimeMs(
                        worker.sentByWorkerMs).setTakenTimeMs(worker.receivedMs).build());
                worker.sentByWorkerMs = 0;
            }
        }
        return clocks;
    }

    /**
     * A report of a task. The task leaves the worker that it reported from before, unless this report is the older.
     *
     * @param timeMs the report's event time, ms since the Unix epoch.
     */
    public synchronized void report(Worker worker, int task, long timeMs) {
        if (task < 0 || task >= MAX_TASKS) {
            return;
        }
        if (task >= workerOfTask.length) {
            grow(task);
        }
        Worker before = workerOfTask[task];
        if (before == worker && !worker.forgotten) {
            reportedMs[task] = Math.max(reportedMs[task], timeMs);
        } else if (before == null || timeMs > reportedMs[task]) {
            place(task, worker, before);
            reportedMs[task] = timeMs;
        }
    }

    private void grow(int task) {
        int length = Math.min(MAX_TASKS, Math.max(task + 1, workerOfTask.length * 2));
        workerOfTask = Arrays.copyOf(workerOfTask, length);
        reportedMs = Arrays.copyOf(reportedMs, length);
    }

    private void place(int task, Worker worker, Worker before) {
        if (before != null && before.tasks.remove(task)) {
            changed(before);
        }
        workerOfTask[task] = worker;
        worker.tasks.add(task);
        changed(worker);
    }

    /** The version of the last change of a worker whose process is known; 0 before the first. */
    public long version() {
        return version;
    }

    /**
     * The workers that changed after a version, of those whose process is known; the earliest changes first.
     *
     * @param since a version; 0 asks for all.
     * @param max how many workers at most.
     */
    public synchronized Changes changedSince(long since, int max) {
        List<WorkerInfo> changed = new ArrayList<>();
        long upTo = since;
        for (Worker worker : workers.values()) {
            if (worker.pid > 0 && worker.version > since && changed.size() < max) {
                changed.add(worker.info(reportedMs));
                upTo = worker.version;
            }
        }
        return new Changes(changed, upTo);
    }

    private static String name(String host, int port) {
        return host + ":" + port;
    }

    private void hold(Worker worker) {
        if (workers.size() == MAX_WORKERS) {
            forget(workers.keySet().iterator().next());
        }
        worker.forgotten = false;
        workers.put(name(worker.host, worker.port), worker);
    }

    private void forget(String name) {
        Worker gone = workers.remove(name);
        gone.forgotten = true;
        for (int task : gone.tasks) {
            workerOfTask[task] = null;
        }
        gone.tasks.clear();
    }

    private void changed(Worker worker) {
        String name = name(worker.host, worker.port);
        if (workers.remove(name, worker)) {
            workers.put(name, worker);
        } else if (worker.forgotten) {
            hold(worker);
        }
        worker.version = ++changes;
        if (worker.pid > 0) {
            version = changes;
        }
    }

    /** Workers that changed, and the version up to which these are all. */
    public static final class Changes {
        private final List<WorkerInfo> workers;
        private final long version;

        Changes(List<WorkerInfo> workers, long version) {
            this.workers = workers;
            this.version = version;
        }

        /** The changed workers. */
        public List<WorkerInfo> workers() {
            return workers;
        }

        /** The version for the next call. */
        public long version() {
            return version;
        }
    }
}
