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
 * query leaves once: by its result, by its timeout, or when all are let go. Thread-safe.
 */
final class HeldQueries implements AutoCloseable {
    private final Map<String, Held> held = new ConcurrentHashMap<>();
    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1, Threads.named("gateway-timer"));
    private final int limit;
    private int active;

    private record Held(Reply reply, ScheduledFuture<?> timeout) {
    }

    HeldQueries(int limit) {
        this.limit = limit;
        timer.setRemoveOnCancelPolicy(true);
    }

    /** False when the limit is reached. Otherwise {@code onTimeout} gets the reply if nobody took it in time. */
    synchronized boolean hold(String id, Reply reply, long timeoutMs, Consumer<Reply> onTimeout) {
        if (active >= limit || timer.isShutdown()) {
            return false;
        }
        active++;
        ScheduledFuture<?> timeout = timer.schedule(() -> {
            Reply late = take(id);
            if (late != null) {
                onTimeout.accept(late);
            }
        }, timeoutMs, TimeUnit.MILLISECONDS);
        held.put(id, new Held(reply, timeout));
        return true;
    }

    /** The reply of a held query, which is held no longer; null if it is not, or has been taken. */
    synchronized Reply take(String id) {
        Held entry = held.remove(id);
        if (entry == null) {
            return null;
        }
        active--;
        entry.timeout().cancel(false);
        return entry.reply();
    }

    synchronized int active() {
        return active;
    }

    /** Takes all. */
    List<Reply> takeAll() {
        List<Reply> replies = new ArrayList<>();
        for (String id : held.keySet()) {
            Reply reply = take(id);
            if (reply != null) {
                replies.add(reply);
            }
        }
        return replies;
    }

    /** Ends the timer: nothing more can be held. */
    @Override
    public void close() {
        timer.shutdownNow();
    }
}
