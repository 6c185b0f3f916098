package io.github.bulletmetrics.topology.localstorm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real processes: shells that carry a marker among their arguments. */
class LeftoversTest {
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
        Marker marker = Marker.of(scratch.resolve("c"));
        Process obedient = shell("", marker.argument());
        Process stubborn = shell("trap '' TERM; ", marker.argument());
        Process supervisor = shell("trap '' TERM; ", marker.argument(), SUPERVISOR);
        Process neighbour = shell("", Marker.of(scratch.resolve("c2")).argument());

        assertThat(new Leftovers(marker, List.of()).end()).isEqualTo(3);

        for (Process process : List.of(obedient, stubborn, supervisor)) {
            assertThat(process.waitFor(1, TimeUnit.SECONDS)).isTrue();
        }
        assertThat(neighbour.isAlive()).isTrue();
        assertThat(new Leftovers(marker, List.of()).end()).isZero();
    }

    @Test
    void endsARecordedProcessButNotAnotherThatGotItsPid() throws Exception {
        Marker marker = Marker.of(scratch.resolve("c"));
        ClusterRecord.Pid recorded = pid(shell(""));
        Process successor = shell("");
        ClusterRecord.Pid dead = new ClusterRecord.Pid(successor.pid(), pid(successor).startTicks() - 1);

        assertThat(new Leftovers(marker, List.of(recorded, dead)).end()).isEqualTo(1);

        assertThat(started.get(0).waitFor(1, TimeUnit.SECONDS)).isTrue();
        assertThat(successor.isAlive()).isTrue();
    }

    private static ClusterRecord.Pid pid(Process process) {
        return new ClusterRecord.Pid(process.pid(), new ProcessTable().find(process.pid()).orElseThrow().startTicks());
    }

    /** Returns when the shell has come to its loop, its trap set. */
    private Process shell(String before, String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of("sh", "-c", before + "echo up; while :; do read line || exit; done", "sh"));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).start();
        started.add(process);
        assertThat(process.inputReader().readLine()).isEqualTo("up");
        return process;
    }
}
