package io.github.bulletmetrics.topology.replay;

import com.yahoo.bullet.pubsub.PubSubMessage;

import java.util.HashMap;
import java.util.Map;

/**
 * Queries that are sent together. What is sent is made when it is asked for, and again only when a query came or went.
 */
final class Batch {
    private final Map<String, PubSubMessage> queries = new HashMap<>();
    private Object sendable;

    /** True if there was no query of that id. */
    boolean add(String id, PubSubMessage message) {
        boolean added = queries.putIfAbsent(id, message) == null;
        if (added) {
            sendable = null;
        }
        return added;
    }

    /** True if there was a query of that id. */
    boolean remove(String id) {
        boolean removed = queries.remove(id) != null;
        if (removed) {
            sendable = null;
        }
        return removed;
    }

    Map<String, PubSubMessage> queries() {
        return queries;
    }

    /** The batch as it is now, for a tuple; it does not change when the batch does. */
    Object sendable(BatchFormat format) {
        if (sendable == null) {
            sendable = format.write(new HashMap<>(queries));
        }
        return sendable;
    }
}
