package io.github.bulletmetrics.topology.localkafka;

import io.github.bulletmetrics.topology.localprocess.Foreground;
import io.github.bulletmetrics.topology.localprocess.Program;
import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs the broker in the foreground, until a signal, the end of stdin (where asked for), or the broker's death. */
@Command(name = "up", mixinStandardHelpOptions = true,
    description = "Starts a broker and keeps it running; prints one line of JSON on stdout when it is ready.")
final class UpCommand implements Callable<Integer> {
    private static final int MIN_HEAP_MIB = 128;

    @Option(names = "--dir", required = true, paramLabel = "DIR",
            description = "Directory of the broker's data and logs.")
    private Path dir;

    @Option(names = "--home", paramLabel = "KAFKA_HOME",
            description = "The distribution (default: kafka beside this jar).")
    private Path home;

    @Option(names = "--heap-mib", defaultValue = "" + BrokerSettings.DEFAULT_HEAP_MIB, paramLabel = "M",
        description = "Heap limit of the broker in MiB (default: ${DEFAULT-VALUE}).")
    private int heapMib;

    @Option(names = "-c", paramLabel = "key=value", description = "A setting of server.properties; may be repeated.")
    private Map<String, String> overrides = new LinkedHashMap<>();

    @Option(names = "--stop-with-stdin", description = "Stops when stdin ends, for example because the parent died.")
    private boolean stopWithStdin;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        BrokerSettings settings = new BrokerSettings(heapMib, overrides);
        Program.require(spec, heapMib >= MIN_HEAP_MIB, "--heap-mib must be at least " + MIN_HEAP_MIB);
        Program.require(spec, settings.refusedOverrides().isEmpty(),
            "the launcher itself sets " + settings.refusedOverrides() + "; remove -c");
        KafkaHome kafka = (home == null ? KafkaHome.besideTheJar() : new KafkaHome(home)).check();
        BrokerDirectory directory = BrokerDirectory.at(dir);
        try (FileLock lock = directory.lockFor("broker")) {
            directory.endLeftovers();
            directory.clean();
            return new Foreground(LocalKafka.PROGRAM, directory, new Broker(directory, kafka, settings))
                    .run(stopWithStdin);
        }
    }
}
