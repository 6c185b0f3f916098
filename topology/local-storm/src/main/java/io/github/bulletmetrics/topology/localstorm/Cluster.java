package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Daemon;
import io.github.bulletmetrics.topology.localprocess.Deadline;
import io.github.bulletmetrics.topology.localprocess.Foreground;
import io.github.bulletmetrics.topology.localprocess.Json;
import io.github.bulletmetrics.topology.localprocess.ProcessId;
import io.github.bulletmetrics.topology.localprocess.ProcessTable;
import io.github.bulletmetrics.topology.localprocess.Program;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** The running cluster: starts its processes in order, waits until it can take a topology, and stops everything. */
final class Cluster implements Foreground.Server {
    private static final Duration START_LIMIT = Duration.ofSeconds(270);
    private static final int CONNECT_TIMEOUT_MS = 500;

    /** A launcher must have stopped within 20 s: this long it tries in order, then it sweeps up what is left. */
    private static final Duration ORDERLY_STOP_LIMIT = Duration.ofSeconds(15);
    private static final Duration SWEEP_LIMIT = Duration.ofMillis(4_500);

    /** A worker has 3 s to clean up; Nimbus and the Supervisor each take about one to notice. */
    private static final Duration WORKERS_STOP_LIMIT = Duration.ofSeconds(7);
    private static final Duration DAEMON_STOP_LIMIT = Duration.ofSeconds(2);

    /**
     * Storm has its Supervisor end itself where it cannot handle an event (code 20), such as a topology that is killed
     * while its files are fetched, and wants it run under supervision: so often it is started again.
     */
    private static final int MAX_SUPERVISOR_RESTARTS = 5;
    private static final String SUPERVISOR = "supervisor";

    private final ClusterDirectory directory;
    private final Endpoints endpoints;
    private final JvmCommand commands;
    private final List<Daemon> daemons = new ArrayList<>();
    private ClusterRecord record;
    private Nimbus nimbus;
    private boolean stopping;

    Cluster(ClusterDirectory directory, Endpoints endpoints) {
        this.directory = directory;
        this.endpoints = endpoints;
        this.commands = new JvmCommand(directory);
        this.record = new ClusterRecord(endpoints, Map.of(), false);
    }

    /**
     * Starts the processes and returns when Nimbus leads and the Supervisor has reported its slots.
     *
     * @throws IOException when a process dies or the cluster is not up within two minutes
     */
    @Override
    public Map<String, Object> start() throws IOException {
        Deadline deadline = Deadline.in(START_LIMIT);
        launch("zookeeper", commands.zookeeper());
        awaitUp("ZooKeeper", () -> listens(endpoints.zookeeperPort()), deadline);
        launch("nimbus", commands.nimbus());
        launch(SUPERVISOR, commands.supervisor());
        if (endpoints.drpc() != null) {
            launch("drpc", commands.drpc(endpoints.drpc().httpThreads()));
        }
        connect();
        awaitUp("Nimbus", () -> listens(endpoints.nimbusPort()), deadline);
        awaitUp("Supervisor", this::hasAllSlots, deadline);
        if (endpoints.drpc() != null) {
            awaitUp("DRPC", () -> listens(endpoints.drpc().httpPort()) && listens(endpoints.drpc().invocationsPort()),
                    deadline);
        }
        saveReady();
        return readyLine();
    }

    /** What {@code up} prints when the cluster is up. */
    private synchronized Map<String, Object> readyLine() {
        Map<String, Object> line = Json.object("ready", true, "dir", directory.path());
        line.putAll(endpoints.json());
        Map<String, Object> pids = Json.object();
        daemons.forEach(daemon -> pids.put(daemon.name(), daemon.pid()));
        line.put("pids", pids);
        return line;
    }

    @Override
    public void awaitDeath() throws IOException {
        for (int restarts = 0; ; restarts++) {
            CompletableFuture.anyOf(snapshot().stream().map(Daemon::onExit).toArray(CompletableFuture<?>[]::new))
                    .join();
            Optional<Daemon> supervisor = snapshot().stream().filter(daemon -> daemon.name().equals(SUPERVISOR)
                    && !daemon.isAlive()).findAny();
            if (supervisor.isEmpty() || restarts == MAX_SUPERVISOR_RESTARTS) {
                failIfAnyDied();
            }
            startAgain(supervisor.get());
        }
    }

    private synchronized void startAgain(Daemon supervisor) throws IOException {
        failIfStopping();
        LocalStorm.PROGRAM.progress("supervisor (pid " + supervisor.pid() + ") ended with code " + supervisor.exitCode()
            + " and is restarted; why is in " + directory.log("supervisor.log"));
        daemons.remove(supervisor);
        launch(SUPERVISOR, commands.supervisor());
        Program.print(readyLine());
    }

    @Override
    public synchronized boolean isStopping() {
        return stopping;
    }

    /**
     * Stops topologies, workers, Supervisor, Nimbus and ZooKeeper, in this order; takes less than 20 s and leaves
     * nothing running.
     *
     * @throws IOException when a process survives even SIGKILL
     */
    @Override
    public void stop() throws IOException {
        Deadline orderly = Deadline.in(ORDERLY_STOP_LIMIT);
        Nimbus reachable;
        synchronized (this) {
            stopping = true;
            reachable = nimbus;
        }
        if (reachable != null && hasWorkers() && killTopologies(reachable)) {
            orderly.atMost(WORKERS_STOP_LIMIT).await(() -> !hasWorkers());
        }
        List<Daemon> inReverse = snapshot();
        Collections.reverse(inReverse);
        inReverse.forEach(daemon -> daemon.stop(orderly.atMost(DAEMON_STOP_LIMIT)));
        directory.leftovers(recorded()).end(Deadline.in(SWEEP_LIMIT));
    }

    private synchronized List<ProcessId> recorded() {
        return List.copyOf(record.pids().values());
    }

    private synchronized List<Daemon> snapshot() {
        return new ArrayList<>(daemons);
    }

    /** Under the lock, so that no process is started after the stop has begun. */
    private synchronized void launch(String name, List<String> command) throws IOException {
        failIfStopping();
        Daemon daemon = Daemon.start(name, command, directory,
                List.of(directory.log(name + ".log"), directory.log(name + ".out")),
            JvmCommand::environment);
        daemons.add(daemon);
        Optional<ProcessId> pid = daemon.identity();
        if (pid.isPresent()) {
            record = record.with(name, pid.get());
            record.save(directory.recordFile());
        }
    }

    private synchronized void saveReady() throws IOException {
        record = record.nowReady();
        record.save(directory.recordFile());
    }

    private void connect() throws IOException {
        Nimbus connected = NimbusConnector.connect(directory, endpoints);
        synchronized (this) {
            nimbus = connected;
        }
    }

    private void awaitUp(String part, Deadline.Condition<IOException> isUp, Deadline deadline) throws IOException {
        boolean ended = deadline.await(() -> isUp.holds() || isStopping() || anyDied());
        failIfStopping();
        failIfAnyDied();
        if (!ended) {
            throw new IOException(part + " is not up after " + START_LIMIT.toSeconds() + " s: see the logs in "
                + directory.child("logs"));
        }
        LocalStorm.PROGRAM.progress(part + " is up");
    }

    private synchronized void failIfStopping() throws IOException {
        if (stopping) {
            throw new IOException("stopped while starting");
        }
    }

    private boolean anyDied() {
        return snapshot().stream().anyMatch(daemon -> !daemon.isAlive());
    }

    private void failIfAnyDied() throws IOException {
        for (Daemon daemon : snapshot()) {
            if (!daemon.isAlive()) {
                throw new IOException(daemon.obituary());
            }
        }
    }

    private boolean hasAllSlots() {
        try {
            return nimbus.view().slots() >= endpoints.slots().size();
        } catch (IOException notYet) {
            return false;
        }
    }

    private static boolean listens(int port) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(Endpoints.HOST, port), CONNECT_TIMEOUT_MS);
            return true;
        } catch (IOException notYet) {
            return false;
        }
    }

    private boolean hasWorkers() {
        try {
            return !Worker.of(directory.marker(), new ProcessTable()).isEmpty();
        } catch (IOException e) {
            return true;
        }
    }

    /**
     * A Nimbus that does not answer costs the workers their orderly end, no more: they are swept up afterwards.
     *
     * @return whether Nimbus took it all
     */
    private static boolean killTopologies(Nimbus nimbus) {
        try {
            for (Nimbus.Topology topology : nimbus.view().topologies()) {
                nimbus.kill(topology.name(), 0);
            }
            return true;
        } catch (IOException e) {
            LocalStorm.PROGRAM.progress("killing topologies failed: " + e.getMessage());
            return false;
        }
    }
}
