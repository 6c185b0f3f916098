package io.github.bulletmetrics.topology.localstorm;

import java.util.List;
import java.util.Optional;

/**
 * One live process as {@code /proc} shows it.
 *
 * @param pid process id
 * @param startTicks when it started, in clock ticks since boot (field 22 of {@code /proc/PID/stat}): with the pid it names a
 *     process for good, since the kernel gives a pid out again
 * @param commandLine its arguments, the program first
 */
record ProcessEntry(long pid, long startTicks, List<String> commandLine) {
    private static final String SUPERVISOR = "org.apache.storm.daemon.supervisor.Supervisor";
    private static final String WORKER = "org.apache.storm.daemon.worker.Worker";
    private static final String LOG_WRITER = "org.apache.storm.LogWriter";

    boolean isSupervisor() {
        return commandLine.contains(SUPERVISOR);
    }

    /** A worker's JVM; the LogWriter that Storm starts around each worker has the worker's whole command line in its own. */
    boolean isWorker() {
        return commandLine.contains(WORKER) && !commandLine.contains(LOG_WRITER);
    }

    /** The value of the JVM's system property, as the command line gives it: the last one counts, as for the JVM. */
    Optional<String> property(String name) {
        String prefix = "-D" + name + "=";
        return commandLine.stream()
            .filter(argument -> argument.startsWith(prefix))
            .map(argument -> argument.substring(prefix.length()))
            .reduce((first, last) -> last);
    }
}
