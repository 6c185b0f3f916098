package io.github.bulletmetrics.topology.localkafka;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Runs the broker in the foreground, until a signal, the end of stdin (where asked for), or the broker's death.
 *
 * <p>There is one way out: the shutdown hook stops the broker and ends the JVM with the code that the main thread left, 0 for a
 * signal. A second signal finds the hook running and changes nothing.
 */
@Command(name = "up", mixinStandardHelpOptions = true,
    description = "Starts a broker and keeps it running; prints one line of JSON on stdout when it is ready.")
final class UpCommand implements Callable<Integer> {
    private static final int MIN_HEAP_MIB = 128;

    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of the broker's data and logs.")
    private Path dir;

    @Option(names = "--home", paramLabel = "KAFKA_HOME", description = "The distribution (default: kafka beside this jar).")
    private Path home;

    @Option(names = "--heap-mib", defaultValue = "" + BrokerSettings.DEFAULT_HEAP_MIB, paramLabel = "M",
        description = "Heap limit of the broker in MiB (default: ${DEFAULT-VALUE}).")
    private int heapMib;

    @Option(names = "-c", paramLabel = "key=value", description = "A setting of server.properties; may be repeated.")
    private Map<String, String> overrides = new LinkedHashMap<>();

    @Option(names = "--stop-with-stdin", description = "Stops when stdin ends, as it does when the parent dies.")
    private boolean stopWithStdin;

    @Spec
    private CommandSpec spec;

    private volatile int exitCode;

    @Override
    public Integer call() throws IOException {
        BrokerSettings settings = new BrokerSettings(heapMib, overrides);
        require(heapMib >= MIN_HEAP_MIB, "--heap-mib must be at least " + MIN_HEAP_MIB);
        require(settings.refusedOverrides().isEmpty(),
            "the launcher itself sets " + settings.refusedOverrides() + ": leave out -c");
        KafkaHome kafka = (home == null ? KafkaHome.besideTheJar() : new KafkaHome(home)).check();
        BrokerDirectory directory = BrokerDirectory.at(dir);
        FileLock lock = directory.tryLock().orElseThrow(() -> new IOException(directory.path()
            + " is held by a running broker: end it (local-kafka down --dir " + dir + ") or give another directory"));
        try (lock) {
            int ended = Broker.end(directory);
            if (ended > 0) {
                LocalKafka.progress("ended " + ended + " processes that an earlier broker had left behind");
            }
            directory.clean();
            return run(new Broker(directory, kafka, settings), directory);
        }
    }

    private void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new ParameterException(spec.commandLine(), otherwise);
        }
    }

    private int run(Broker broker, BrokerDirectory directory) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stopAndHalt(broker), "stop-broker"));
        if (stopWithStdin) {
            Thread watcher = new Thread(UpCommand::exitWithStdin, "stdin-watcher");
            watcher.setDaemon(true);
            watcher.start();
        }
        try {
            LocalKafka.print(line(directory, broker.start()));
            broker.awaitDeath();
        } catch (IOException e) {
            if (!broker.isStopping()) {
                LocalKafka.progress(e.getMessage());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            // Whatever ends the wait before a stop was asked for, an Error too, is a failure.
            exitCode = broker.isStopping() ? 0 : 1;
        }
        return exitCode;
    }

    private static Map<String, Object> line(BrokerDirectory directory, Broker.Ready ready) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("ready", true);
        line.put("dir", directory.path().toString());
        line.put("bootstrap", ready.bootstrap());
        line.put("pid", ready.pid());
        return line;
    }

    private void stopAndHalt(Broker broker) {
        LocalKafka.progress("stopping");
        try {
            broker.stop();
            LocalKafka.progress("stopped");
        } catch (IOException | RuntimeException | LinkageError e) {
            LocalKafka.progress("not stopped in order (" + e + "): run local-kafka down --dir " + dir);
            exitCode = 1;
        }
        Runtime.getRuntime().halt(exitCode);
    }

    private static void exitWithStdin() {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException brokenIsAnEndToo) {
            LocalKafka.progress("stdin broke: " + brokenIsAnEndToo.getMessage());
        }
        System.exit(0);
    }
}
