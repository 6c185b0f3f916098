package io.github.bulletmetrics.storm.queue;

import io.github.bulletmetrics.storm.proto.v1.SeriesDefinition;
import io.github.bulletmetrics.storm.proto.v1.Shape;
import io.github.bulletmetrics.storm.proto.v1.Temporality;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * One series: its definition for the collector, with an id that stays the same for the life of the sender.
 *
 * <p>Each sample has the id instead of the definition, which is sent once per stream. The identity is immutable and
 * thread-safe.
 */
public final class Series {
    /** What a definition takes beside its texts, at most: tags, lengths and numbers of {@link SeriesDefinition}. */
    private static final int DEFINITION_OVERHEAD_BYTES = 64;
    /** UTF-8 takes at most this many bytes for one char of a String, plus tag and length of a key's text. */
    private static final int BYTES_PER_CHAR = 3;
    private static final int BYTES_PER_TEXT = 6;

    private final int id;
    private final Source source;
    private final String name;
    private final List<String> key;
    private final Shape shape;
    private final Temporality temporality;
    private final int intervalMs;
    private final int packSpanMs;

    /** A series of numbers as Storm has them: the source's interval, no temporality, no packs. */
    public Series(int id, Source source, String name, List<String> key, Shape shape) {
        this(id, source, name, key, shape, Temporality.TEMPORALITY_UNSPECIFIED, source.intervalMs(), 0);
    }

    /**
     * @param id from 1, unique in its sender.
     * @param source where it comes from.
     * @param name the metric's name, as Storm has it.
     * @param key the keys that lead to the number, outermost first; not copied.
     * @param shape the shape of the data point.
     * @param temporality what the values count from.
     * @param intervalMs time between two samples, ms.
     * @param packSpanMs how much time one pack of samples spans at most, ms; 0 where samples come alone.
     */
    public Series(int id, Source source, String name, List<String> key, Shape shape, Temporality temporality,
            int intervalMs,
            int packSpanMs) {
        this.id = id;
        this.source = source;
        this.name = name;
        this.key = Collections.unmodifiableList(key);
        this.shape = shape;
        this.temporality = temporality;
        this.intervalMs = intervalMs;
        this.packSpanMs = packSpanMs;
    }

    /** The id by which samples refer to it. */
    public int id() {
        return id;
    }

    /** Where it comes from. */
    public Source source() {
        return source;
    }

    /** Whether its samples are distributions, not numbers. */
    public boolean isDistribution() {
        return shape == Shape.SHAPE_HISTOGRAM;
    }

    /** The definition as it travels. */
    public SeriesDefinition definition() {
        return SeriesDefinition.newBuilder()
                .setId(id)
                .setHost(source.host())
                .setPort(source.port())
                .setComponent(source.component())
                .setTask(source.task())
                .setName(name)
                .addAllKey(key)
                .setIntervalMs(intervalMs)
                .setTemporality(temporality)
                .setPackSpanMs(packSpanMs)
                .setShape(shape)
                .build();
    }

    /** An upper bound of the encoded size of {@link #definition()}, bytes; cheap. */
    public int definitionBytes() {
        int chars = source.host().length() + source.component().length() + name.length();
        for (int i = 0; i < key.size(); i++) {
            chars += key.get(i).length();
        }
        return DEFINITION_OVERHEAD_BYTES + chars * BYTES_PER_CHAR + key.size() * BYTES_PER_TEXT;
    }

    @Override
    public String toString() {
        return id + "=" + source.host() + ":" + source.port() + "/" + source.component() + "/" + source.task() + "/"
                + name
                + (key.isEmpty() ? "" : Arrays.toString(key.toArray()));
    }
}
