package io.github.bulletmetrics.topology.compat;

import java.io.IOException;

/** What is asked of each Storm, in the order of the table. */
enum Column {
    CPU("CPU", Checks::cpu),
    HEAP("heap", Checks::heap),
    GC("GC per collector", Checks::gc),
    BULLET("Bullet metrics", Checks::bullet),
    TUPLES("tuple counts", Checks::tuples),
    LATENCIES("latencies", Checks::latencies),
    RESTART("restart handled", Checks::restart);

    /** Looks at what the collector has of a run. */
    interface Check {
        Cell of(Run run) throws IOException, InterruptedException;
    }

    private final String title;
    private final Check check;

    Column(String title, Check check) {
        this.title = title;
        this.check = check;
    }

    String title() {
        return title;
    }

    Cell check(Run run) throws IOException, InterruptedException {
        return check.of(run);
    }
}
