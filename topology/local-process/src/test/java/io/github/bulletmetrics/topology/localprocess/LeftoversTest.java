package io.github.bulletmetrics.topology.localprocess;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real processes: shells that carry a marker among their arguments. */
class LeftoversTest {
    private static final Program PROGRAM = new Program("local-storm");
    private static final String SUPERVISOR = "org.apache.storm.daemon.supervisor.Supervisor";

    @TempDir
    private Path scratch;

    private final List<Process> started = new ArrayList<>();

    @AfterEach
    void end() {
        started.forEach(Process::destroyForcibly);
    }

    @Test
    void endsTheMarkedEvenIfTheyIgnoreSigtermAndNobodyElse() throws Exception {
        Marker marker = Marker.of(PROGRAM, scratch.resolve("c"));
        Process obedient = shell("", marker.argument());
        Process stubborn = shell("trap '' TERM; ", marker.argument());
        Process supervisor = shell("trap '' TERM; ", marker.argument(), SUPERVISOR);
        Process neighbour = shell("", Marker.of(PROGRAM, scratch.resolve("c2")).argument());

        assertThat(of(marker).end()).isEqualTo(3);

        for (Process process : List.of(obedient, stubborn, supervisor)) {
            assertThat(process.waitFor(1, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(neighbour.isAlive()).isTrue();
        assertThat(of(marker).end()).isZero();
    }

    @Test
    void endsARecordedProcessButNotAnotherThatGotItsPid() throws Exception {
        Marker marker = Marker.of(PROGRAM, scratch.resolve("c"));
        ProcessId recorded = pid(shell(""));
        Process successor = shell("");
        ProcessId dead = new ProcessId(successor.pid(), pid(successor).startTicks() - 1);

        assertThat(of(marker, recorded, dead).end()).isEqualTo(1);

        assertThat(started.get(0).waitFor(1, TimeUnit.SECONDS)).isTrue();
        assertThat(successor.isAlive()).isTrue();
    }

    private static Leftovers of(Marker marker, ProcessId... recorded) {
        return new Leftovers(marker, List.of(recorded), process -> process.commandLine().contains(SUPERVISOR),
                Duration.ofSeconds(3),
            Duration.ofSeconds(15));
    }

    private static ProcessId pid(Process process) {
        return new ProcessId(process.pid(), new ProcessTable().find(process.pid()).orElseThrow().startTicks());
    }

    /** Returns when the shell has come to its loop, its trap set. */
    private Process shell(String before, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(
                List.of("sh", "-c", before + "echo up; while :; do read line || exit; done", "sh"));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).start();
        started.add(process);
        assertThat(process.inputReader().readLine()).isEqualTo("up");
        return process;
    }
}
