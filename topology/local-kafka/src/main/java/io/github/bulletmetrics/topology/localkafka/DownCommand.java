package io.github.bulletmetrics.topology.localkafka;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Ends whatever runs for a directory: a live launcher by asking it to stop, the leftovers of a dead one itself. */
@Command(name = "down", mixinStandardHelpOptions = true,
    description = "Stops the broker of a directory, or the leftovers of a killed launcher; 0 also when there was nothing.")
final class DownCommand implements Callable<Integer> {
    /** A launcher stops its broker within 10 s. */
    private static final Duration LAUNCHER_LIMIT = Duration.ofSeconds(15);

    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of the broker.")
    private Path dir;

    @Override
    public Integer call() throws IOException {
        BrokerDirectory.at(dir).down(LAUNCHER_LIMIT);
        return 0;
    }
}
