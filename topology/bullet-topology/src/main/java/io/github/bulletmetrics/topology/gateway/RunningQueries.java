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
 * The queries whose clients wait, up to a limit. No thread waits with them: one timer ends those that get too old. Each
 * query leaves once: by its result, by its timeout, or when all are released. Thread-safe.
 */
final class HeldQueries implements AutoCloseable {
    private final Map<String, Held> held = new ConcurrentHashMap<>();
    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1,
            Threads.named("gateway-timer"));
    private final int limit;
    private int active;

    private record Held(QueryClient client, ScheduledFuture<?> timeout) {
    }

    HeldQueries(int limit) {
        this.limit = limit;
        timer.setRemoveOnCancelPolicy(true);
    }

    /** False when the limit is reached. Otherwise {@code onTimeout} gets the client if nobody took it in time. */
    synchronized boolean hold(String id, QueryClient client, long timeoutMs, Consumer<QueryClient> onTimeout) {
        if (active >= limit || timer.isShutdown()) {
            return false;
        }
        active++;
        ScheduledFuture<?> timeout = timer.schedule(() -> {
            QueryClient late = take(id);
            if (late != null) {
                onTimeout.accept(late);
            }
        }, timeoutMs, TimeUnit.MILLISECONDS);
        held.put(id, new Held(client, timeout));
        return true;
    }

    /** The client of a query that goes on being held; null if it is not held. */
    QueryClient get(String id) {
        Held entry = held.get(id);
        return entry == null ? null : entry.client();
    }

    /** The client of a held query, which is held no longer; null if it is not, or has been taken. */
    synchronized QueryClient take(String id) {
        Held entry = held.remove(id);
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

    /** Does something again and again on the timer's thread, until it is closed; it must not block. */
    void every(long periodMs, Runnable task) {
        timer.scheduleAtFixedRate(task, periodMs, periodMs, TimeUnit.MILLISECONDS);
    }

    /** Takes all. */
    List<QueryClient> takeAll() {
        List<QueryClient> clients = new ArrayList<>();
        for (String id : held.keySet()) {
            QueryClient client = take(id);
            if (client != null) {
                clients.add(client);
            }
        }
        return clients;
    }

    /** Ends the timer: nothing more can be held. */
    @Override
    public void close() {
        timer.shutdownNow();
    }
}
