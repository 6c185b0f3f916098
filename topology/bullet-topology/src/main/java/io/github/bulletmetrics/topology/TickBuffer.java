package io.github.bulletmetrics.topology;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Keeps each value for a fixed number of ticks. Values leave in the order in which they came. Not thread-safe.
 *
 * @param <V> what is kept.
 */
final class TickBuffer<V> {
    private final int ticksToKeep;
    private final Map<String, Kept<V>> kept = new LinkedHashMap<>();
    private long tick;

    private record Kept<V>(V value, long dueTick) {
    }

    TickBuffer(int ticksToKeep) {
        this.ticksToKeep = ticksToKeep;
    }

    void put(String id, V value) {
        kept.remove(id);
        kept.put(id, new Kept<>(value, tick + ticksToKeep));
    }

    /** The value of an id, or null. */
    V get(String id) {
        Kept<V> entry = kept.get(id);
        return entry == null ? null : entry.value();
    }

    boolean remove(String id) {
        return kept.remove(id) != null;
    }

    int size() {
        return kept.size();
    }

    /** Moves on by one tick and takes out what has been kept long enough, oldest first. */
    Map<String, V> tick() {
        tick++;
        Map<String, V> due = new LinkedHashMap<>();
        Iterator<Map.Entry<String, Kept<V>>> entries = kept.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry<String, Kept<V>> entry = entries.next();
            if (entry.getValue().dueTick() > tick) {
                break;
            }
            due.put(entry.getKey(), entry.getValue().value());
            entries.remove();
        }
        return due;
    }
}
