package io.github.bulletmetrics.topology.localkafka;

import io.github.bulletmetrics.topology.localprocess.Program;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Runs the topology's record producer against the broker, in a JVM of its own. */
@Command(name = "produce", mixinStandardHelpOptions = true,
        description = "Writes generated records into a topic; the options after --"
    + " are the producer's (-- --help lists them). Passes on its output and exit code; SIGTERM ends it in order.")
final class ProduceCommand implements Callable<Integer> {
    private static final String PRODUCER = "io.github.bulletmetrics.topology.source.RecordProducer";

    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of a running broker.")
    private Path dir;

    @Option(names = "--jar", paramLabel = "JAR", description = "The topology's jar, which contains the generator (default:"
        + " bullet-topology.jar beside this jar).")
    private Path jar;

    @Parameters(paramLabel = "ARGS", description = "Options of the producer, after --.")
    private List<String> arguments = List.of();

    @Override
    public Integer call() throws IOException, InterruptedException {
        Path topology = jar != null ? jar : Program.jarOf(LocalKafka.class).resolveSibling("bullet-topology.jar");
        if (!Files.isRegularFile(topology)) {
            throw new IOException(topology + " is not a file; set --jar to the topology's jar");
        }
        Broker.Ready broker = BrokerDirectory.at(dir).requireReady();
        List<String> command = new ArrayList<>(List.of(Program.javaBinary(), "-Xmx256m", "-XX:+UseSerialGC", "-cp",
            topology.toString(), PRODUCER, "--bootstrap-server", broker.bootstrap()));
        command.addAll(arguments);
        Process process = new ProcessBuilder(command).inheritIO().start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> endInOrder(process), "stop-producer"));
        return process.waitFor();
    }

    /** The producer still writes what it has and states how much that was. */
    private static void endInOrder(Process process) {
        process.destroy();
        try {
            process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
