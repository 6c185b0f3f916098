package io.github.bulletmetrics.topology.localprocess;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;

/**
 * Ends every process of a server, however it came to be left behind: those that carry the marker, and those that a
 * record names by pid and start time.
 *
 * @param atOnce which processes are killed first of all, since they would start others again
 * @param grace how long the others have between SIGTERM and SIGKILL
 * @param limit how long it all may take where nobody gives a deadline
 */
public record Leftovers(Marker marker, Collection<ProcessId> recorded, Predicate<ProcessEntry> atOnce, Duration grace,
        Duration limit) {
    private static final Duration SECOND_LOOK = Duration.ofMillis(100);

    /** As {@link #end(Deadline)}, within the limit. */
    public int end() throws IOException {
        return end(Deadline.in(limit));
    }

    /**
     * Ends them all: first those that would start others again; the others by SIGTERM and, after the grace, by SIGKILL.
     *
     * @return how many processes there were
     * @throws IOException when some still live at the deadline, with their pids
     */
    public int end(Deadline deadline) throws IOException {
        List<ProcessEntry> found = alive();
        found.stream().filter(atOnce).forEach(process -> signal(process, true));
        alive().forEach(process -> signal(process, false));
        if (!deadline.atMost(grace).await(this::isGone) && !deadline.await(this::killedAll)) {
            throw new IOException("cannot end processes " + pids(alive()) + "; end them with kill -9");
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

    /** What is left of the server now. */
    public List<ProcessEntry> alive() throws IOException {
        List<ProcessEntry> alive = new ArrayList<>(new ProcessTable().marked(marker));
        for (ProcessId pid : recorded) {
            new ProcessTable().find(pid.pid())
                .filter(process -> process.startTicks() == pid.startTicks() && !alive.contains(process))
                .ifPresent(alive::add);
        }
        return alive;
    }

    /**
     * The handle remembers the process' start, so that a pid given out again between this look and the kill is not hit.
     */
    private static void signal(ProcessEntry process, boolean kill) {
        ProcessHandle.of(process.pid())
            .filter(handle -> new ProcessTable().find(process.pid()).filter(process::equals).isPresent())
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
