package io.github.bulletmetrics.topology.compat;

import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What a run of a topology has done by its end, by its own count.
 *
 * @param records emitted by DataSource, each filtered and acked once.
 * @param queries taken in by JoinBolt, each answered.
 */
record Truth(long records, long queries) {
    private static final Pattern LINE = Pattern.compile("(?m)^truth: (\\d+) records, (\\d+) queries$");

    String toLine() {
        return "truth: " + records + " records, " + queries + " queries";
    }

    /** Of what a process printed; none where it has not said it yet. */
    static Optional<Truth> of(String printed) {
        Matcher line = LINE.matcher(printed);
        return line.find() ? Optional.of(new Truth(Long.parseLong(line.group(1)), Long.parseLong(line.group(2))))
                : Optional.empty();
    }

    Truth plus(Truth other) {
        return new Truth(records + other.records, queries + other.queries);
    }
}
