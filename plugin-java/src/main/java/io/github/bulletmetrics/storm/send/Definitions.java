package io.github.bulletmetrics.storm.send;

import java.util.Arrays;
import java.util.BitSet;

/** The ids that are defined on a stream, and those that the current batch defines. Not thread-safe. */
final class Definitions {
    private final BitSet defined = new BitSet();
    private int[] ofBatch = new int[16];
    private int count;

    /** Nothing counts as defined. */
    void clear() {
        defined.clear();
    }

    void beginBatch() {
        count = 0;
    }

    boolean has(int id) {
        return defined.get(id);
    }

    /** An id that this batch defines. */
    void define(int id) {
        defined.set(id);
        if (count == ofBatch.length) {
            ofBatch = Arrays.copyOf(ofBatch, count * 2);
        }
        ofBatch[count++] = id;
    }

    /** The ids that the batch defines. */
    int[] ofBatch() {
        return Arrays.copyOf(ofBatch, count);
    }

    /** A batch was refused, and with it the definitions in it. */
    void undefine(int[] ids) {
        for (int id : ids) {
            defined.clear(id);
        }
    }
}
