package io.github.bulletmetrics.topology.gateway;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The queries whose clients wait, up to a limit. One timer ends those that are too old, so that no thread waits for
 * them. Each query is removed once: by its result, by its timeout, or when all are removed. Thread-safe.
 */
final class RunningQueries implements AutoCloseable {
    private final Map<String, Entry> entries = new ConcurrentHashMap<>();
    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1,
            Threads.named("gateway-timer"));
    private final int limit;
    private int active;

    private record Entry(QueryClient client, ScheduledFuture<?> timeout) {
    }

    RunningQueries(int limit) {
        this.limit = limit;
        timer.setRemoveOnCancelPolicy(true);
    }

    /** Returns false if the limit is reached. {@code onTimeout} gets the client if it was not removed in time. */
    synchronized boolean add(String id, QueryClient client, long timeoutMs, Consumer<QueryClient> onTimeout) {
        if (active >= limit || timer.isShutdown()) {
            return false;
        }
        active++;
        ScheduledFuture<?> timeout = timer.schedule(() -> {
            QueryClient late = remove(id);
            if (late != null) {
                onTimeout.accept(late);
            }
        }, timeoutMs, TimeUnit.MILLISECONDS);
        entries.put(id, new Entry(client, timeout));
        return true;
    }

    /** The client of a query, or null. */
    QueryClient get(String id) {
        Entry entry = entries.get(id);
        return entry == null ? null : entry.client();
    }

    /** Removes a query. Returns its client, or null if there is none. */
    synchronized QueryClient remove(String id) {
        Entry entry = entries.remove(id);
        if (entry == null) {
            return null;
        }
        active--;
        entry.timeout().cancel(false);
        return entry.client();
    }

    synchronized int active() {
        return active;
    }

    /** Runs a task at intervals on the timer's thread, until it is closed. The task must not block. */
    void every(long periodMs, Runnable task) {
        timer.scheduleAtFixedRate(task, periodMs, periodMs, TimeUnit.MILLISECONDS);
    }

    /** Removes all queries and returns their clients. */
    List<QueryClient> removeAll() {
        List<QueryClient> clients = new ArrayList<>();
        for (String id : entries.keySet()) {
            QueryClient client = remove(id);
            if (client != null) {
                clients.add(client);
            }
        }
        return clients;
    }

    /** Ends the timer. No query can be added afterwards. */
    @Override
    public void close() {
        timer.shutdownNow();
    }
}
