package io.github.bulletmetrics.topology.localstorm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.topology.localprocess.Deadline;
import io.github.bulletmetrics.topology.localprocess.Json;
import io.github.bulletmetrics.topology.localprocess.Marker;
import io.github.bulletmetrics.topology.localprocess.ProcessEntry;
import io.github.bulletmetrics.topology.localprocess.ProcessTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The finished launcher with a real cluster. */
@Tag("slow")
class LocalStormIT {
    private static final Duration UP_LIMIT = Duration.ofSeconds(600);
    private static final Duration WORKERS_LIMIT = Duration.ofSeconds(600);
    private static final int STOP_LIMIT_SECS = 20;

    @TempDir
    private Path scratch;

    private Launcher launcher;
    private Path dir;
    private Marker marker;

    @BeforeEach
    void prepare() throws IOException {
        launcher = new Launcher(scratch);
        dir = scratch.resolve("a cluster");
        marker = ClusterDirectory.at(dir).marker();
    }

    @AfterEach
    void leaveNothing() throws Exception {
        launcher.run("down", "--dir", dir.toString());
        ClusterDirectory.at(dir).clean();
    }

    @Test
    void runsATopologyInTwoWorkersAndStopsOnSigterm() throws Exception {
        Process up = launcher.up(dir, "--slots", "3", "--worker-heap-mib", "128", "--worker-opts", "-Dsome.option=1");
        awaitReady(up);
        assertThat(launcher.stdout("up")).startsWith("{\"ready\":true,").endsWith("}\n").hasLineCount(1)
            .contains("\"nimbus_host\":\"127.0.0.1\"");

        Path pids = submit("word-count", 2);
        Path otherPids = submit("other", 1);
        List<Worker> workers = awaitCountingWorkers("word-count", 2, pids);
        awaitCountingWorkers("other", 1, otherPids);
        assertThat(workers).extracting(Worker::port).doesNotHaveDuplicates();
        assertThat(processes()).filteredOn(Worker::isWorker)
            .allSatisfy(worker -> assertThat(worker.commandLine()).contains("-Xmx128m", "-Dsome.option=1"));
        assertThat(launcher.run("status", "--dir", dir.toString()).stdout())
            .contains("\"running\":true", "\"ready\":true", "\"name\":\"word-count\"", "\"status\":\"ACTIVE\"");

        assertThat(launcher.run("kill", "--dir", dir.toString(), "--topology", "other").code()).isZero();
        assertThat(launcher.run("workers", "--dir", dir.toString()).stdout())
            .isEqualTo(Json.write(workers.stream().map(Worker::json).toList()) + "\n");
        assertThat(launcher.run("kill", "--dir", dir.toString(), "--topology", "other").stderr())
                .contains("no topology other is");

        assertThat(lostHeartbeats()).isEmpty();

        long victim = workers.get(0).pid();
        kill(victim);
        assertThat(awaitCountingWorkers("word-count", 2, pids)).extracting(Worker::pid).doesNotContain(victim)
                .contains(workers.get(1).pid());

        up.destroy();
        assertStopped(up, 0);
    }

    @Test
    void downEndsWhatAKilledLauncherLeft() throws Exception {
        Process up = launcher.up(dir);
        awaitReady(up);
        awaitCountingWorkers("word-count", 2, submit("word-count", 2));
        up.destroyForcibly().waitFor();
        assertThat(processes()).anyMatch(ClusterDirectory::isSupervisor).anyMatch(Worker::isWorker);
        Launcher.Result down = launcher.run("down", "--dir", dir.toString());
        assertThat(processes()).isEmpty();
        assertThat(down.code()).as(down.stderr()).isZero();
        assertThat(launcher.run("down", "--dir", dir.toString()).stderr()).contains("no process was running");
    }

    @Test
    void survivesTheInterruptOfATerminalUntilItHasStoppedEverythingAndRefusesASecondLauncher() throws Exception {
        Process up = launcher.up(dir);
        awaitReady(up);
        Launcher second = new Launcher(Files.createDirectory(scratch.resolve("second")));
        Process refused = second.up(dir);
        assertThat(refused.waitFor(STOP_LIMIT_SECS, TimeUnit.SECONDS)).isTrue();
        assertThat(refused.exitValue()).isEqualTo(1);
        assertThat(second.stderr("up")).contains("is used by a running cluster");

        interruptGroup(up);
        interruptGroup(up);
        assertStopped(up, 0);
        assertThat(launcher.stderr("up")).contains("stopping", "stopped").doesNotContain("unexpectedly");
    }

    @Test
    void stopsInTheMiddleOfItsStartWhenStdinEnds() throws Exception {
        Process up = launcher.up(dir, "--stop-with-stdin");
        awaitStderr(up, "ZooKeeper is up");
        up.getOutputStream().close();
        assertStopped(up, 0);
        assertThat(launcher.stdout("up")).isEmpty();
    }

    @Test
    void reportsWhichProcessDiedAndEndsTheOthers() throws Exception {
        Process up = launcher.up(dir);
        awaitReady(up);
        long nimbus = ClusterRecord.load(ClusterDirectory.at(dir).recordFile()).pids().get("nimbus").pid();
        kill(nimbus);
        assertStopped(up, 1);
        assertThat(launcher.stderr("up")).contains("nimbus (pid " + nimbus + ") ended unexpectedly", "last lines of",
                "nimbus.log");
    }

    @Test
    void startsASupervisorThatEndedAgain() throws Exception {
        Process up = launcher.up(dir);
        awaitReady(up);
        Path pids = submit("word-count", 1);
        List<Worker> before = awaitCountingWorkers("word-count", 1, pids);
        long supervisor = supervisor();
        kill(supervisor);
        awaitStderr(up, "supervisor (pid " + supervisor + ") ended with code 137 and is restarted");
        awaitCountingWorkers("other", 1, submit("other", 1));
        assertThat(supervisor()).isNotEqualTo(supervisor);
        assertThat(launcher.stdout("up")).hasLineCount(2).endsWith("\"supervisor\":" + supervisor() + "}}\n");
        assertThat(workers("word-count")).isEqualTo(before);
        up.destroy();
        assertStopped(up, 0);
    }

    private long supervisor() throws IOException {
        return ClusterRecord.load(ClusterDirectory.at(dir).recordFile()).pids().get("supervisor").pid();
    }

    private void awaitReady(Process up) throws IOException {
        assertThat(Deadline.in(UP_LIMIT).await(() -> !launcher.stdout("up").isEmpty() || !up.isAlive())).isTrue();
        assertThat(up.isAlive()).as(launcher.stderr("up")).isTrue();
    }

    private void awaitStderr(Process up, String text) throws IOException {
        assertThat(Deadline.in(UP_LIMIT).await(() -> launcher.stderr("up").contains(text) || !up.isAlive())).isTrue();
        assertThat(up.isAlive()).as(launcher.stderr("up")).isTrue();
    }

    /** @return where each counter leaves its pid once tuples have come to it */
    private Path submit(String topology, int workers) throws Exception {
        Path pids = Files.createTempDirectory(scratch, "pids");
        Launcher.Result submitted = launcher.run("submit", "--dir", dir.toString(), "--jar",
                launcher.wordCountJar().toString(),
            "--main", "io.github.bulletmetrics.topology.localstorm.wordcount.WordCountTopology", "--name", topology,
            "--", topology, Integer.toString(workers), pids.toString());
        assertThat(submitted.code()).as(submitted.stderr()).isZero();
        assertThat(submitted.stderr()).contains("submitted " + topology);
        return pids;
    }

    /** Waits until the topology has this many workers, all of which have counted words. */
    private List<Worker> awaitCountingWorkers(String topology, int count, Path pids) throws IOException {
        boolean counting = Deadline.in(WORKERS_LIMIT).await(() -> {
            List<Worker> workers = workers(topology);
            return workers.size() == count && names(pids)
                    .containsAll(workers.stream().map(worker -> "" + worker.pid()).toList());
        });
        assertThat(counting).as("%s counting workers; workers %s, counters %s", count, workers(topology), names(pids))
                .isTrue();
        return workers(topology);
    }

    /**
     * A worker that cannot send its heartbeats says so in its log and runs on, until Nimbus gives it up half a minute
     * later.
     */
    private List<String> lostHeartbeats() throws IOException {
        try (var files = Files.walk(dir.resolve("logs/workers-artifacts"))) {
            List<String> lost = new ArrayList<>();
            for (Path log : files.filter(file -> file.endsWith("worker.log")).toList()) {
                Files.readAllLines(log).stream().filter(line -> line.contains("Exception when send heartbeat"))
                        .forEach(lost::add);
            }
            return lost;
        }
    }

    private List<Worker> workers(String topology) throws IOException {
        return Worker.of(marker, new ProcessTable()).stream()
            .filter(worker -> Worker.topologyName(worker.topologyId()).equals(topology))
            .toList();
    }

    private List<ProcessEntry> processes() throws IOException {
        return new ProcessTable().marked(marker);
    }

    private static Set<String> names(Path directory) throws IOException {
        try (var files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).collect(Collectors.toSet());
        }
    }

    /** Returns when the process is gone. */
    private static void kill(long pid) throws Exception {
        ProcessHandle process = ProcessHandle.of(pid).orElseThrow();
        process.destroyForcibly();
        process.onExit().get(STOP_LIMIT_SECS, TimeUnit.SECONDS);
    }

    private static void interruptGroup(Process leader) throws Exception {
        new ProcessBuilder("kill", "-INT", "--", "-" + leader.pid()).inheritIO().start().waitFor();
    }

    private void assertStopped(Process up, int code) throws Exception {
        assertThat(up.waitFor(STOP_LIMIT_SECS, TimeUnit.SECONDS)).as(launcher.stderr("up")).isTrue();
        assertThat(up.exitValue()).as(launcher.stderr("up")).isEqualTo(code);
        assertThat(processes()).isEmpty();
    }
}
