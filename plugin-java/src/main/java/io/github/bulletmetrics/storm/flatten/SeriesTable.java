package io.github.bulletmetrics.storm.flatten;

import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.Series;
import io.github.bulletmetrics.storm.queue.Source;
import io.github.bulletmetrics.storm.queue.Worker;
import io.github.bulletmetrics.storm.proto.v1.Shape;
import io.github.bulletmetrics.storm.proto.v1.Temporality;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/**
 * Finds every known series without allocation.
 *
 * <p>The number of names in it (sources, metrics and map keys) is bounded. When the bound is reached, sources that were
 * silent for {@link #FORGET_AFTER_MS} are removed, because by then none of their samples is queued. If such a source
 * reports again, it gets new series with new ids. Not thread-safe.
 */
final class SeriesTable {
    /** How long a source must be silent before it is forgotten, ms: longer than the sender keeps a sample. */
    static final long FORGET_AFTER_MS = 2 * 3_600_000L;
    /** How often a full table looks for silent sources, ms. */
    static final long SWEEP_EVERY_MS = 60_000;
    /** Length of a name or key that is still held, chars; the collector refuses shorter ones by its own limits. */
    static final int MAX_TEXT_CHARS = 1_024;

    private final int maxNames;
    private final Map<SourceKey, SourceNames> sources = new HashMap<>();
    private final Map<String, String> texts = new HashMap<>();
    private final SourceKey probe = new SourceKey();
    private int names;
    private int lastId;
    private int lastLayoutId;
    private long nextSweepMs = Long.MIN_VALUE;

    SeriesTable(int maxNames) {
        this.maxNames = maxNames;
    }

    /**
     * The names of a source, new ones where it was not seen before; null when the table is full.
     *
     * @param nowMs a monotonic time, ms.
     */
    SourceNames source(String host, int port, String component, int task, int intervalMs, long nowMs) {
        probe.set(host, port, component, task, intervalMs);
        SourceNames found = sources.get(probe);
        if (found == null) {
            if (!hasCapacityFor(host, nowMs) || !hasCapacityFor(component, nowMs)) {
                return null;
            }
            Source source = new Source(pooled(host), port, pooled(component), task, intervalMs);
            found = new SourceNames(source);
            sources.put(new SourceKey(source), found);
            hold(found, 1);
        }
        found.lastSeenMs = nowMs;
        return found;
    }

    /** The metric of that name at a source; null when the table is full or the name too long. */
    Name metric(SourceNames of, String text, long nowMs) {
        Name metric = of.metrics.get(text);
        if (metric == null && hasCapacityFor(text, nowMs)) {
            metric = new Name(null, pooled(text));
            of.metrics.put(metric.text, metric);
            hold(of, 1);
        }
        return metric;
    }

    /** The key of that text in a map; null when the table is full, the key too long, or the map itself has no place. */
    Name key(SourceNames of, Name map, String text, long nowMs) {
        Name key = map == null ? null : map.key(text);
        if (key == null && map != null && hasCapacityFor(text, nowMs)) {
            key = new Name(map, pooled(text));
            map.add(key);
            hold(of, 1);
        }
        return key;
    }

    /** The series of the number at a name. */
    Series series(SourceNames of, Name name) {
        if (name.series == null) {
            Shape shape = name.parent == null ? Shape.SHAPE_NUMBER : Shape.SHAPE_MAP;
            name.series = new Series(nextId(), of.source, name.metric(), name.path(), shape);
        }
        return name.series;
    }

    /** The series of a distribution of the latency hook, at a name that is its alone, as a layout of it alone. */
    Layout latencyLayout(SourceNames of, Name place, String metric, String key) {
        if (place.layout == null) {
            List<String> keys = key.isEmpty() ? Collections.emptyList() : Collections.singletonList(key);
            place.layout = new Layout(0, new Series(nextId(), of.source, metric, keys, Shape.SHAPE_HISTOGRAM,
                    Temporality.TEMPORALITY_CUMULATIVE,
                    of.source.intervalMs(), 0));
        }
        return place.layout;
    }

    /** A layout of series, under an id of its own. */
    Layout layout(Series... series) {
        return new Layout(++lastLayoutId, series);
    }

    int nextId() {
        return ++lastId;
    }

    /** Names held. */
    int names() {
        return names;
    }

    /** Names that may be held. */
    int maxNames() {
        return maxNames;
    }

    /**
     * A name of more than {@link #MAX_TEXT_CHARS} has no place at any time; another may have one once silent sources
     * are gone.
     */
    boolean hasCapacityFor(String text, long nowMs) {
        if (text.length() > MAX_TEXT_CHARS) {
            return false;
        }
        if (names >= maxNames && nowMs >= nextSweepMs) {
            nextSweepMs = nowMs + SWEEP_EVERY_MS;
            forgetSilent(nowMs);
        }
        return names < maxNames;
    }

    /** Counts names that a caller keeps in a {@link SourceNames} itself. */
    void hold(SourceNames of, int more) {
        names += more;
        of.names += more;
    }

    private void forgetSilent(long nowMs) {
        for (Iterator<SourceNames> all = sources.values().iterator(); all.hasNext();) {
            SourceNames source = all.next();
            if (nowMs - source.lastSeenMs >= FORGET_AFTER_MS) {
                names -= source.names;
                all.remove();
            }
        }
        texts.clear();
    }

    /** One String for equal texts: the same few names come from every task. Forgotten with the silent sources. */
    private String pooled(String text) {
        String known = texts.putIfAbsent(text, text);
        return known == null ? text : known;
    }

    /** A source with the names of its metrics. */
    static final class SourceNames {
        final Source source;
        final Map<String, Name> metrics = new HashMap<>();
        /** The layouts of the numbers in its reports. */
        final Layouts layouts = new Layouts();
        /** The series of the worker's sampler, by collector; null while it sent none. */
        SamplerSeries sampler;
        /** Where it runs; null before its first report. */
        Worker worker;
        private long lastSeenMs;
        private int names;

        SourceNames(Source source) {
            this.source = source;
        }
    }

    /** A source's identity that can be set again, so that looking one up allocates nothing. */
    private static final class SourceKey {
        private String host;
        private int port;
        private String component;
        private int task;
        private int intervalMs;

        SourceKey() {
        }

        SourceKey(Source source) {
            set(source.host(), source.port(), source.component(), source.task(), source.intervalMs());
        }

        void set(String newHost, int newPort, String newComponent, int newTask, int newIntervalMs) {
            host = newHost;
            port = newPort;
            component = newComponent;
            task = newTask;
            intervalMs = newIntervalMs;
        }

        @Override
        public int hashCode() {
            return (((host.hashCode() * 31 + port) * 31 + component.hashCode()) * 31 + task) * 31 + intervalMs;
        }

        @Override
        public boolean equals(Object other) {
            if (!(other instanceof SourceKey)) {
                return false;
            }
            SourceKey that = (SourceKey) other;
            return task == that.task && port == that.port && intervalMs == that.intervalMs
                    && component.equals(that.component)
                    && host.equals(that.host);
        }
    }
}
