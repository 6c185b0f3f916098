package io.github.bulletmetrics.topology.localprocess;

import java.util.List;
import java.util.Optional;

/**
 * One live process as {@code /proc} shows it.
 *
 * @param pid process id
 * @param startTicks when it started, in clock ticks since boot (field 22 of {@code /proc/PID/stat}): with the pid it
 *     names a process for good, since the kernel gives a pid out again
 * @param commandLine its arguments, the program first
 */
public record ProcessEntry(long pid, long startTicks, List<String> commandLine) {
    /** The value of the JVM's system property, as the command line gives it: the last one counts, as for the JVM. */
    public Optional<String> property(String name) {
        String prefix = "-D" + name + "=";
        return commandLine.stream()
            .filter(argument -> argument.startsWith(prefix))
            .map(argument -> argument.substring(prefix.length()))
            .reduce((first, last) -> last);
    }
}
