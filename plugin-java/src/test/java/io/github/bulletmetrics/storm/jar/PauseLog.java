package io.github.bulletmetrics.storm.jar;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The pauses in a JVM's log of gc and gc+phases with the decorations timemillis, uptimenanos and tags. */
final class PauseLog {
    private static final Pattern LINE = Pattern.compile(
            "\\[(\\d+)ms]\\[(\\d+)ns]\\[([a-z,]+) *] GC\\(\\d+\\) (?:[YOyo]: )?(Pause .*?) (\\d+\\.\\d+)ms");
    /** ZGC logs its pauses as phases. The phases of the other collectors are parts of their pauses. */
    private static final Pattern OF_ZGC = Pattern.compile("Pause (Mark Start|Mark End|Relocate Start)( \\(.*\\))?");
    private static final Pattern OF_G1_CYCLE = Pattern.compile("Pause (Remark|Cleanup).*");

    private final List<Pause> pauses = new ArrayList<>();

    private static final class Pause {
        private final String what;
        private final double startMs;
        private final double endMs;

        Pause(String what, double startMs, double endMs) {
            this.what = what;
            this.startMs = startMs;
            this.endMs = endMs;
        }

        boolean contains(Pause other) {
            return this != other && startMs <= other.startMs && other.endMs <= endMs;
        }
    }

    /** @param untilMs later lines are left out, ms since the Unix epoch. */
    PauseLog(List<String> lines, long untilMs) {
        List<Pause> all = new ArrayList<>();
        for (String line : lines) {
            Matcher pause = LINE.matcher(line);
            if (pause.matches() && Long.parseLong(pause.group(1)) <= untilMs
                    && (pause.group(3).equals("gc") || OF_ZGC.matcher(pause.group(4)).matches())) {
                double endMs = Long.parseLong(pause.group(2)) / 1e6;
                all.add(new Pause(pause.group(4), endMs - Double.parseDouble(pause.group(5)), endMs));
            }
        }
        // A full collection within the pause of a young one that failed is part of that pause.
        for (Pause pause : all) {
            if (all.stream().noneMatch(other -> other.contains(pause))) {
                pauses.add(pause);
            }
        }
    }

    int pauses() {
        return pauses.size();
    }

    /** Remark and cleanup pauses. */
    long ofG1Cycles() {
        return pauses.stream().filter(pause -> OF_G1_CYCLE.matcher(pause.what).matches()).count();
    }

    double sumMs() {
        return pauses.stream().mapToDouble(pause -> pause.endMs - pause.startMs).sum();
    }
}
