package io.github.bulletmetrics.topology.replay;

import com.yahoo.bullet.pubsub.PubSubMessage;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * What a filter or join task waits for after its start: the queries that were there before it. It asks again and again
 * until it has the last batch. Queries that end in the meantime are remembered, so that no batch brings them back.
 */
public final class MissedQueries {
    /** The most ended queries remembered, about 15 MB of ids; the oldest are forgotten, and counted. */
    static final int MOST_ENDED = 100_000;

    private final long intervalMs;
    private final Map<String, Boolean> endedIds = new LinkedHashMap<>() {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Boolean> eldest) {
            boolean full = size() > MOST_ENDED;
            forgotten += full ? 1 : 0;
            return full;
        }
    };
    private final Set<String> ended = Collections.newSetFromMap(endedIds);
    private boolean waiting;
    private long since;
    private long lastSignMs;
    private long batches;
    private long queries;
    private long forgotten;

    /**
     * Waits for nothing yet.
     *
     * @param intervalMs how long to wait for a batch before asking again.
     */
    public MissedQueries(long intervalMs) {
        this.intervalMs = intervalMs;
    }

    /**
     * Begins to wait, or begins again: batches of an earlier request are left out from now on. The request is due now.
     *
     * @param nowMs the time, which distinguishes this request from earlier ones.
     */
    public void begin(long nowMs) {
        since = Math.max(nowMs, since + 1);
        waiting = true;
        batches = 0;
        queries = 0;
        lastSignMs = nowMs - intervalMs;
    }

    /**
     * Whether to ask now; if so, it counts as asked.
     *
     * @param nowMs the time.
     * @return true when it waits, and the last request or batch is the interval ago.
     */
    public boolean isDue(long nowMs) {
        boolean due = waiting && nowMs - lastSignMs >= intervalMs;
        if (due) {
            lastSignMs = nowMs;
        }
        return due;
    }

    /**
     * What a request says.
     *
     * @return when the task began to wait, ms.
     */
    public long since() {
        return since;
    }

    /**
     * Whether the last batch has not come.
     *
     * @return true while it waits.
     */
    public boolean isWaiting() {
        return waiting;
    }

    /**
     * Remembers the end of a query, while it waits.
     *
     * @param id the query's id.
     */
    public void ended(String id) {
        if (waiting) {
            ended.add(id);
        }
    }

    /**
     * Takes a batch; null is the last. One that answers an earlier request, or comes after the last, is left out.
     *
     * @param batchSince what the request said that it answers.
     * @param batch the queries by id, not changed.
     * @param nowMs the time.
     * @return the queries to start, without those that have ended; some may be there already.
     */
    public Collection<PubSubMessage> take(long batchSince, Map<String, PubSubMessage> batch, long nowMs) {
        if (!waiting || batchSince != since) {
            return List.of();
        }
        lastSignMs = nowMs;
        if (batch == null) {
            waiting = false;
            ended.clear();
            return List.of();
        }
        batches++;
        queries += batch.size();
        return batch.values().stream().filter(Objects::nonNull).filter(message -> !ended.contains(message.getId()))
                .toList();
    }

    @Override
    public String toString() {
        return queries + " queries in " + batches + " batches since " + since
            + (forgotten == 0 ? "" : ", " + forgotten + " ended queries forgotten");
    }
}
