package io.github.bulletmetrics.storm.flatten;

import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.Series;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A metric's name at a source, or a key of its map. It is a node of a tree in which the series of a data point is found
 * without building a string.
 */
final class Name {
    final Name parent;
    final String text;
    /** The series of the number found here; null until there was one. */
    Series series;
    /** The layout of a distribution, which has only its series; null until there was one. */
    Layout layout;
    private Map<String, Name> keys = Collections.emptyMap();

    /**
     * @param parent the map that it is a key of; null for a metric's name.
     * @param text the name or key.
     */
    Name(Name parent, String text) {
        this.parent = parent;
        this.text = text;
    }

    Name key(String key) {
        return keys.get(key);
    }

    void add(Name key) {
        if (keys.isEmpty()) {
            keys = new HashMap<>(4);
        }
        keys.put(key.text, key);
    }

    /** The metric's name. */
    String metric() {
        Name name = this;
        while (name.parent != null) {
            name = name.parent;
        }
        return name.text;
    }

    /** The keys from the metric's name to here, outermost first; empty for a metric's name. */
    List<String> path() {
        List<String> path = new ArrayList<>(2);
        for (Name name = this; name.parent != null; name = name.parent) {
            path.add(name.text);
        }
        Collections.reverse(path);
        return path;
    }
}
