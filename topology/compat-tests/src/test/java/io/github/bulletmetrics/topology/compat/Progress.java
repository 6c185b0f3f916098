package io.github.bulletmetrics.topology.compat;

import java.io.PrintStream;
import java.time.Duration;

/** Shows people how far it is. */
final class Progress {
    private final PrintStream to;
    private final long begin = System.nanoTime();

    Progress(PrintStream to) {
        this.to = to;
    }

    void say(Setup setup, String what) {
        Duration since = Duration.ofNanos(System.nanoTime() - begin);
        to.printf("%3d:%02d  Storm %s, Bullet %s%s  %s%n", since.toMinutes(), since.toSecondsPart(), setup.storm(),
                setup.bullet().version(),
            setup.whole() ? ", whole" : "", what);
    }
}
