package io.github.bulletmetrics.topology.compat;

import java.util.Arrays;

/** A release of bullet-storm, as far as its metrics tell it from others. */
record BulletRelease(String version) implements java.io.Serializable {
    /** Whether it is that release or a later one. */
    boolean from(int... other) {
        int[] own = Arrays.stream(version.split("\\.")).mapToInt(Integer::parseInt).toArray();
        return Arrays.compare(own, other) >= 0;
    }

    /** What 0.3 called rules. */
    String queries() {
        return from(0, 4, 0) ? "queries" : "rules";
    }

    boolean hasFilterLatency() {
        return from(0, 4, 3);
    }

    boolean hasRateExceeded() {
        return from(0, 8, 0);
    }

    boolean hasDuplicated() {
        return from(0, 8, 4);
    }

    boolean hasReplays() {
        return from(1, 0, 0);
    }

    /** The component that queries come from: by DRPC at first. */
    String querySpout() {
        return from(0, 5, 0) ? "QuerySpout" : "DRPCSpout";
    }
}
