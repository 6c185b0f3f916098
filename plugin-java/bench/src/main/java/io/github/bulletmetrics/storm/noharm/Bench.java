package io.github.bulletmetrics.storm.noharm;

import java.util.OptionalInt;

/** How much is measured. */
public final class Bench {
    /**
     * About how long to measure each case, s ({@code make bench-plugin BENCH_SECONDS=10}); each program's own where it
     * is not said.
     */
    public static final OptionalInt SECONDS = Integer.getInteger("bench.seconds") == null ? OptionalInt.empty()
            : OptionalInt.of(Integer.getInteger("bench.seconds"));

    private Bench() {
    }
}
