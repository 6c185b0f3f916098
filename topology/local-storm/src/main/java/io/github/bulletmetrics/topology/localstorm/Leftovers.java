package io.github.bulletmetrics.topology.localstorm;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/**
 * Ends every process of a cluster, however it came to be left behind: those that carry the marker, and those that the record
 * names by pid and start time.
 */
final class Leftovers {
    private static final Duration GRACE = Duration.ofSeconds(3);

    private static final Duration SECOND_LOOK = Duration.ofMillis(100);
    private static final Duration LIMIT = Duration.ofSeconds(15);

    private final Marker marker;
    private final Collection<ClusterRecord.Pid> recorded;
    private final ProcessTable processes = new ProcessTable();

    Leftovers(Marker marker, Collection<ClusterRecord.Pid> recorded) {
        this.marker = marker;
        this.recorded = recorded;
    }

    /** What the directory's marker and its record name. */
    static Leftovers of(ClusterDirectory directory) throws IOException {
        return new Leftovers(directory.marker(),
            directory.record().map(record -> record.pids().values()).orElse(List.of()));
    }

    /** As {@link #end(Deadline)}, within 15 s. */
    int end() throws IOException {
        return end(Deadline.in(LIMIT));
    }

    /**
     * Ends them all: the supervisor at once, since it would start its workers again; the others by SIGTERM and, after a grace
     * of 3 s, by SIGKILL.
     *
     * @return how many processes there were
     * @throws IOException when some still live at the deadline, with their pids
     */
    int end(Deadline deadline) throws IOException {
        List<ProcessEntry> found = alive();
        found.stream().filter(ProcessEntry::isSupervisor).forEach(process -> signal(process, true));
        alive().forEach(process -> signal(process, false));
        if (!deadline.atMost(GRACE).await(this::isGone) && !deadline.await(this::killedAll)) {
            throw new IOException("cannot end " + pids(alive()) + ": end them by hand (kill -9)");
        }
        return found.size();
    }

    private boolean killedAll() throws IOException {
        alive().forEach(process -> signal(process, true));
        return isGone();
    }

    /** Looks for a moment longer: a process in the middle of execve(2) has no command line to be known by. */
    private boolean isGone() throws IOException {
        return alive().isEmpty() && !Deadline.in(SECOND_LOOK).await(() -> !alive().isEmpty());
    }

    /** What is left of the cluster now. */
    List<ProcessEntry> alive() throws IOException {
        List<ProcessEntry> alive = new ArrayList<>(processes.marked(marker));
        for (ClusterRecord.Pid pid : recorded) {
            processes.find(pid.pid())
                .filter(process -> process.startTicks() == pid.startTicks() && !alive.contains(process))
                .ifPresent(alive::add);
        }
        return alive;
    }

    /** The handle remembers the process' start, so that a pid given out again between this look and the kill is not hit. */
    private void signal(ProcessEntry process, boolean kill) {
        ProcessHandle.of(process.pid())
            .filter(handle -> processes.find(process.pid()).filter(process::equals).isPresent())
            .ifPresent(handle -> {
                if (kill) {
                    handle.destroyForcibly();
                } else {
                    handle.destroy();
                }
            });
    }

    private static List<Long> pids(List<ProcessEntry> entries) {
        return entries.stream().map(ProcessEntry::pid).toList();
    }
}
