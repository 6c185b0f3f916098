package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Marker;
import io.github.bulletmetrics.topology.localprocess.ProcessTable;
import io.github.bulletmetrics.topology.localprocess.Program;
import java.io.IOException;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Lists the live worker JVMs, from {@code /proc} alone: it asks nobody, so it is quick and true even while Nimbus is
 * away.
 */
@Command(name = "workers", mixinStandardHelpOptions = true,
        description = "Prints the live worker JVMs as a JSON array.")
final class WorkersCommand implements Callable<Integer> {
    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of the cluster.")
    private Path dir;

    @Override
    public Integer call() throws IOException {
        Marker marker = ClusterDirectory.at(dir).marker();
        Program.print(Worker.of(marker, new ProcessTable()).stream().map(Worker::json).toList());
        return 0;
    }
}
