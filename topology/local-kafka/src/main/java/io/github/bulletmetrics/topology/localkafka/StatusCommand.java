package io.github.bulletmetrics.topology.localkafka;

import io.github.bulletmetrics.topology.localprocess.Program;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Prints what runs for a directory. {@code running}: a launcher lives; {@code ready}: its broker is up; without a
 * launcher, {@code leftover_pids} are the processes that {@code down} would end.
 */
@Command(name = "status", mixinStandardHelpOptions = true,
    description = "Prints the state of the broker and its topics as one line of JSON.")
final class StatusCommand implements Callable<Integer> {
    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of the broker.")
    private Path dir;

    @Override
    public Integer call() throws IOException, InterruptedException {
        BrokerDirectory directory = BrokerDirectory.at(dir);
        Map<String, Object> status = directory.status();
        if (status.get("running").equals(true)) {
            describe(directory, status);
        }
        Program.print(status);
        return 0;
    }

    private static void describe(BrokerDirectory directory, Map<String, Object> status) throws IOException,
            InterruptedException {
        Optional<Broker.Ready> ready = directory.ready();
        status.put("ready", ready.isPresent());
        if (ready.isPresent()) {
            status.put("bootstrap", ready.get().bootstrap());
            status.put("pid", ready.get().pid());
            status.put("topics", Topics.list(ready.get().bootstrap()));
        }
    }
}
