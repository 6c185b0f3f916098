package io.github.bulletmetrics.storm.latency;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Measures how long each query of one task takes, from its arrival until the result is sent.
 *
 * <p>It remembers at most {@link #MAX_QUERIES} queries, so that queries that never end cannot fill the worker's memory.
 * If there are more, the oldest one is removed and counted. Storm reports a tuple only after executing it, so that a
 * query may end before its arrival is reported. Its time is then 0. Used only by the task's executor thread.
 */
public final class QueryTimes {
    /** Queries followed at a time; about 150 bytes each. */
    static final int MAX_QUERIES = 20_000;

    private final int maxQueries;
    private final Map<String, Running> running = new LinkedHashMap<>();
    private final LatencyHistogram completed = new LatencyHistogram();
    private final LatencyHistogram failed = new LatencyHistogram();
    private final LatencyHistogram firstSent = new LatencyHistogram();
    private final LatencyHistogram completedSinceCreated = new LatencyHistogram();
    private final LatencyHistogram failedSinceCreated = new LatencyHistogram();
    /** The query that ended last without having arrived, or null. */
    private String unseen;
    private boolean unseenFailed;
    private long unseenMs;
    private long unseenQueries;
    private long evictedQueries;

    /** No query yet. */
    public QueryTimes() {
        this(MAX_QUERIES);
    }

    QueryTimes(int maxQueries) {
        this.maxQueries = maxQueries;
    }

    /**
     * A query arrived. One that is known already goes on from its first arrival.
     *
     * @param createdMs when its client made it, by that one's clock; {@link Creations#UNKNOWN} where it does not say.
     */
    public void arrived(String id, long nowMs, long createdMs) {
        if (id.equals(unseen)) {
            unseen = null;
            new Running(unseenMs, createdMs).ended(unseenMs, unseenFailed);
            return;
        }
        countUnseen();
        if (running.putIfAbsent(id, new Running(nowMs, createdMs)) == null && running.size() > maxQueries) {
            Iterator<String> oldest = running.keySet().iterator();
            oldest.next();
            oldest.remove();
            evictedQueries++;
        }
    }

    /** A window of a query was sent, which goes on. */
    public void windowSent(String id, long nowMs) {
        Running query = running.get(id);
        if (query != null) {
            query.sent(nowMs);
        }
    }

    /** A query's last result was sent. */
    public void completed(String id, long nowMs) {
        ended(id, nowMs, false);
    }

    /** A query's error was sent. */
    public void failed(String id, long nowMs) {
        ended(id, nowMs, true);
    }

    /** A query was taken away without a result, or has ended already. */
    public void removed(String id) {
        running.remove(id);
    }

    private void ended(String id, long nowMs, boolean withError) {
        Running query = running.remove(id);
        if (query == null) {
            countUnseen();
            unseen = id;
            unseenFailed = withError;
            unseenMs = nowMs;
            return;
        }
        query.ended(nowMs, withError);
    }

    private void countUnseen() {
        if (unseen != null) {
            unseen = null;
            unseenQueries++;
        }
    }

    /** From arrival to the last result. */
    public LatencyHistogram completedTimes() {
        return completed;
    }

    /** From arrival to the error. */
    public LatencyHistogram failedTimes() {
        return failed;
    }

    /** From creation to the last result, of those queries that say when they were created. */
    public LatencyHistogram completedTimesSinceCreated() {
        return completedSinceCreated;
    }

    /** From creation to the error, of those queries that say when they were created. */
    public LatencyHistogram failedTimesSinceCreated() {
        return failedSinceCreated;
    }

    /** From arrival to the first window, or to the result of a query without windows, errors included. */
    public LatencyHistogram firstSentTimes() {
        return firstSent;
    }

    /** Queries that ended and had not been seen to arrive, such as those that Bullet replays to a restarted task. */
    public long unseenQueries() {
        return unseenQueries;
    }

    /** Queries that had to make room. */
    public long evictedQueries() {
        return evictedQueries;
    }

    /** Queries followed now. */
    int running() {
        return running.size();
    }

    private final class Running {
        private final long arrivedMs;
        private final long createdMs;
        private boolean anySent;

        Running(long arrivedMs, long createdMs) {
            this.arrivedMs = arrivedMs;
            this.createdMs = createdMs;
        }

        void ended(long nowMs, boolean withError) {
            sent(nowMs);
            (withError ? failed : completed).record(nowMs - arrivedMs);
            if (createdMs != Creations.UNKNOWN) {
                (withError ? failedSinceCreated : completedSinceCreated).record(nowMs - createdMs);
            }
        }

        void sent(long nowMs) {
            if (!anySent) {
                anySent = true;
                firstSent.record(nowMs - arrivedMs);
            }
        }
    }
}
