package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Deadline;
import io.github.bulletmetrics.topology.localprocess.ProcessTable;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Kills a topology and waits until its workers have ended. */
@Command(name = "kill", mixinStandardHelpOptions = true,
        description = "Kills a topology and waits until its workers have ended.")
final class KillCommand implements Callable<Integer> {
    /**
     * Beyond the wait that Storm was asked for: a second for Nimbus, one for the Supervisor, two until it forces the
     * workers.
     */
    private static final Duration WORKERS_LIMIT = Duration.ofSeconds(120);

    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of a running cluster.")
    private Path dir;

    @Option(names = "--topology", required = true, paramLabel = "NAME", description = "The topology's name.")
    private String topology;

    @Option(names = "--wait-secs", defaultValue = "0", paramLabel = "S",
        description = "Seconds between deactivating the topology and ending its workers (default: ${DEFAULT-VALUE}).")
    private int waitSecs;

    @Override
    public Integer call() throws IOException {
        ClusterDirectory directory = ClusterDirectory.at(dir);
        Nimbus nimbus = NimbusConnector.connect(directory, directory.requireReady().endpoints());
        if (!nimbus.kill(topology, waitSecs)) {
            List<String> alive = nimbus.view().topologies().stream().map(Nimbus.Topology::name).toList();
            throw new IOException("no topology " + topology + " is alive; there are " + alive);
        }
        Duration limit = WORKERS_LIMIT.plusSeconds(waitSecs);
        if (!Deadline.in(limit).await(() -> workersOf(directory).isEmpty())) {
            throw new IOException("workers still run " + limit.toSeconds() + " s after the kill: "
                    + workersOf(directory));
        }
        return 0;
    }

    private List<Worker> workersOf(ClusterDirectory directory) throws IOException {
        return Worker.of(directory.marker(), new ProcessTable()).stream()
            .filter(worker -> Worker.topologyName(worker.topologyId()).equals(topology))
            .toList();
    }
}
