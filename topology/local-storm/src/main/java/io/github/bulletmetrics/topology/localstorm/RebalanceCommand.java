package io.github.bulletmetrics.topology.localstorm;

import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Rebalances a topology over another number of workers. Nimbus has taken it when this returns; the workers follow. */
@Command(name = "rebalance", mixinStandardHelpOptions = true,
        description = "Rebalances a topology to another number of workers.")
final class RebalanceCommand implements Callable<Integer> {
    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of a running cluster.")
    private Path dir;

    @Option(names = "--topology", required = true, paramLabel = "NAME", description = "The topology's name.")
    private String topology;

    @Option(names = "--workers", required = true, paramLabel = "N", description = "New number of workers.")
    private int workers;

    @Option(names = "--wait-secs", defaultValue = "0", paramLabel = "S",
        description = "Seconds between deactivating the topology and moving its tasks (default: ${DEFAULT-VALUE}).")
    private int waitSecs;

    @Override
    public Integer call() throws IOException {
        ClusterDirectory directory = ClusterDirectory.at(dir);
        Nimbus nimbus = NimbusConnector.connect(directory, directory.requireReady().endpoints());
        if (!nimbus.rebalance(topology, workers, waitSecs)) {
            throw new IOException("no topology " + topology + " is alive");
        }
        return 0;
    }
}
