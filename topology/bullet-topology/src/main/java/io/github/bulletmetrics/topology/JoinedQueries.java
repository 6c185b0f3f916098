package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.querying.Querier;
import com.yahoo.bullet.querying.QueryCategorizer;

import java.util.HashMap;
import java.util.Map;

/**
 * The queries of one join bolt task, each in one of three states.
 *
 * <p><em>Delayed</em>: has time windows and starts a few ticks late, so that the filter bolts' windows close before its
 * own. <em>Running</em>. <em>Finishing</em>: done, but kept a few ticks for the last data of the filter bolts. Running
 * and finishing queries are the active ones.
 */
final class JoinedQueries {
    private final Map<String, Metadata> metadata = new HashMap<>();
    private final Map<String, Querier> running = new HashMap<>();
    private final TickBuffer<Querier> delayed;
    private final TickBuffer<Querier> finishing;

    JoinedQueries(int delayTicks, int finishTicks) {
        delayed = new TickBuffer<>(delayTicks);
        finishing = new TickBuffer<>(finishTicks);
    }

    boolean has(String id) {
        return metadata.containsKey(id);
    }

    /** Those that run or finish. */
    int active() {
        return running.size() + finishing.size();
    }

    void add(String id, Metadata queryMetadata, Querier querier) {
        metadata.put(id, queryMetadata);
        if (querier.shouldBuffer()) {
            running.put(id, querier);
        } else {
            delayed.put(id, querier);
        }
    }

    /** The query of an id in any state, or null. */
    Querier get(String id) {
        Querier querier = running.get(id);
        if (querier == null) {
            querier = finishing.get(id);
        }
        return querier == null ? delayed.get(id) : querier;
    }

    Metadata metadata(String id) {
        return metadata.get(id);
    }

    /** Forgets a query in any state. */
    void remove(String id) {
        metadata.remove(id);
        running.remove(id);
        finishing.remove(id);
        delayed.remove(id);
    }

    /** Lets a running query wait for its last data; one that waits already goes on waiting. */
    void finish(String id) {
        Querier querier = running.remove(id);
        if (querier != null) {
            finishing.put(id, querier);
        }
    }

    /** Moves on by a tick: starts delayed queries that are due and returns the finishing ones that are. */
    Map<String, Querier> tick() {
        delayed.tick().forEach((id, querier) -> {
            querier.restart();
            running.put(id, querier);
        });
        return finishing.tick();
    }

    QueryCategorizer categorizeRunning() {
        return new QueryCategorizer().categorize(running);
    }
}
