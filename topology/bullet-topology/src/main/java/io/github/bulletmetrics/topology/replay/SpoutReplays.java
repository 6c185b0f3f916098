package io.github.bulletmetrics.topology.replay;

import java.util.HashMap;
import java.util.Map;

/**
 * The replays that a query spout task moves on, one for each task that asked; an entry stays when its replay has ended.
 */
public final class SpoutReplays {
    private static final class Replay {
        private long since;
        private boolean active;
    }

    private final Map<String, Replay> replays = new HashMap<>();

    /**
     * Takes a request. It begins or restarts a replay, unless it is older than the last one, or one that runs will do;
     * a newer one than that which runs lets that go on under the newer time, by which the replay bolt begins again.
     *
     * @param id who asks, for instance {@code FilterBolt-5}.
     * @param since since when it asks, ms.
     * @return whether the replay bolt must be notified now.
     */
    public boolean request(String id, long since) {
        Replay replay = replays.computeIfAbsent(id, key -> new Replay());
        if (since < replay.since) {
            return false;
        }
        replay.since = since;
        boolean begins = !replay.active;
        replay.active = true;
        return begins;
    }

    /**
     * Whether an id is that of a task that has asked, and not a query's.
     *
     * @param id the id of a tuple that was acked or failed.
     * @return true if it has asked.
     */
    public boolean has(Object id) {
        return replays.containsKey(id);
    }

    /**
     * Since when a task asks.
     *
     * @param id one that {@link #has} knows.
     * @return ms.
     */
    public long since(Object id) {
        return replays.get(id).since;
    }

    /**
     * Ends a replay: it is done, or has failed, and a further request restarts it.
     *
     * @param id one that {@link #has} knows.
     */
    public void end(Object id) {
        replays.get(id).active = false;
    }

    /** Forgets all. */
    public void clear() {
        replays.clear();
    }

    /**
     * The replays that have not ended.
     *
     * @return how many.
     */
    public long active() {
        return replays.values().stream().filter(replay -> replay.active).count();
    }
}
