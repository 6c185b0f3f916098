package io.github.bulletmetrics.storm.queue;

import io.github.bulletmetrics.storm.proto.v1.WorkerInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * What is known of workers, as far as their samples came by here.
 *
 * <p>Every change gets the next version, so that a reader asks for what changed since the version that it knows. Safe for use
 * by several threads; written only when something is new.
 */
public final class Workers {
    /** Workers held; the one that changed longest ago makes room for a further one. */
    static final int MAX_WORKERS = 4_096;

    /** By "host:port", the one that changed longest ago first. */
    private final Map<String, Worker> workers = new LinkedHashMap<>();
    private final Map<Integer, Worker> workerOfTask = new HashMap<>();
    private long changes;
    private volatile long version;

    /** A worker's process, as its sampler told. */
    public synchronized void process(String host, int port, long pid, long startTimeMs) {
        Worker worker = worker(host, port);
        if (worker.pid == pid && worker.startTimeMs == startTimeMs) {
            return;
        }
        worker.pid = pid;
        worker.startTimeMs = startTimeMs;
        changed(worker);
    }

    /** A task that reports from a worker; it leaves the one that it reported from before. */
    public synchronized void task(String host, int port, int task) {
        Worker worker = worker(host, port);
        Worker before = workerOfTask.put(task, worker);
        if (before == worker) {
            return;
        }
        if (before != null && before.tasks.remove(task)) {
            changed(before);
        }
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
                changed.add(worker.info());
                upTo = worker.version;
            }
        }
        return new Changes(changed, upTo);
    }

    private Worker worker(String host, int port) {
        String name = host + ":" + port;
        Worker worker = workers.get(name);
        if (worker == null) {
            if (workers.size() == MAX_WORKERS) {
                forget(workers.keySet().iterator().next());
            }
            worker = new Worker(host, port);
            workers.put(name, worker);
        }
        return worker;
    }

    private void forget(String name) {
        Worker gone = workers.remove(name);
        workerOfTask.values().removeIf(worker -> worker == gone);
    }

    private void changed(Worker worker) {
        String name = worker.host + ":" + worker.port;
        if (workers.remove(name) != null) {
            workers.put(name, worker);
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

        /** What is known of them now. */
        public List<WorkerInfo> workers() {
            return workers;
        }

        /** What to ask with next. */
        public long version() {
            return version;
        }
    }

    private static final class Worker {
        final String host;
        final int port;
        final TreeSet<Integer> tasks = new TreeSet<>();
        long pid;
        long startTimeMs;
        long version;

        Worker(String host, int port) {
            this.host = host;
            this.port = port;
        }

        WorkerInfo info() {
            return WorkerInfo.newBuilder()
                    .setHost(host)
                    .setPort(port)
                    .setPid(pid)
                    .setStartTimeMs(startTimeMs)
                    .addAllTasks(tasks)
                    .build();
        }
    }
}
