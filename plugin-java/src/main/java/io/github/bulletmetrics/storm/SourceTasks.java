package io.github.bulletmetrics.storm;

import java.util.function.Predicate;
import org.apache.storm.tuple.Tuple;

/**
 * Decides whether the tuples of a task are of interest, and caches the result per task. Asking Storm for a tuple's
 * component would cost one or two look-ups per tuple.
 */
final class SourceTasks {
    /** Tasks remembered; of those beyond, Storm is asked each time. */
    static final int MAX_TASKS = 1 << 16;
    private static final byte YES = 1;
    private static final byte NO = 2;

    private final Predicate<String> components;
    private byte[] known = new byte[64];

    SourceTasks(Predicate<String> components) {
        this.components = components;
    }

    boolean has(Tuple tuple) {
        int task = tuple.getSourceTask();
        if (task >= 0 && task < known.length && known[task] != 0) {
            return known[task] == YES;
        }
        boolean has = components.test(tuple.getSourceComponent());
        if (task >= 0 && task < MAX_TASKS) {
            if (task >= known.length) {
                known = java.util.Arrays.copyOf(known, Math.max(task + 1, known.length * 2));
            }
            known[task] = has ? YES : NO;
        }
        return has;
    }
}
