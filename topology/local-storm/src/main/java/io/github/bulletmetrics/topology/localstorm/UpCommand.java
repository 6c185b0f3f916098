package io.github.bulletmetrics.topology.localstorm;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Runs the cluster in the foreground, until a signal, the end of stdin (where asked for), or the death of one of its processes.
 *
 * <p>There is one way out: the shutdown hook stops the cluster and ends the JVM with the code that the main thread left, 0 for a
 * signal. A second signal finds the hook running and changes nothing.
 */
@Command(name = "up", mixinStandardHelpOptions = true,
    description = "Starts a cluster and keeps it running; prints one line of JSON on stdout when it is ready.")
final class UpCommand implements Callable<Integer> {
    private static final int MAX_SLOTS = 64;
    private static final int MIN_HEAP_MIB = 32;

    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of the cluster's state and logs.")
    private Path dir;

    @Option(names = "--home", required = true, paramLabel = "STORM_HOME", description = "The distribution: lib and lib-worker.")
    private Path home;

    @Option(names = "--slots", defaultValue = "2", paramLabel = "N", description = "Worker slots (default: ${DEFAULT-VALUE}).")
    private int slots;

    @Option(names = "--extlib", paramLabel = "JAR",
        description = "A jar for the class path of every worker, submitter and daemon; may be repeated.")
    private List<Path> extlib = List.of();

    @Option(names = "--worker-heap-mib", defaultValue = "" + ClusterSettings.DEFAULT_WORKER_HEAP_MIB, paramLabel = "M",
        description = "Heap limit of each worker in MiB (default: ${DEFAULT-VALUE}).")
    private int workerHeapMib;

    @Option(names = "--worker-opts", defaultValue = "", paramLabel = "OPTS", description = "More JVM options of each worker.")
    private String workerOptions;

    @Option(names = "--drpc", description = "Starts a DRPC server too: drpc_http_port of the line on stdout.")
    private boolean drpc;

    @Option(names = "--drpc-threads", defaultValue = "" + DrpcServer.DEFAULT_HTTP_THREADS, paramLabel = "N",
        description = "Threads of its HTTP port, of which each holds a call and the server keeps some three (default:"
            + " ${DEFAULT-VALUE}, as Storm has it).")
    private int drpcThreads;

    @Option(names = "-c", paramLabel = "storm.key=value", description = "A setting of storm.yaml; may be repeated.")
    private Map<String, String> overrides = new LinkedHashMap<>();

    @Option(names = "--stop-with-stdin", description = "Stops when stdin ends, as it does when the parent dies.")
    private boolean stopWithStdin;

    @Spec
    private CommandSpec spec;

    private volatile int exitCode;

    @Override
    public Integer call() throws IOException {
        ClusterSettings settings = new ClusterSettings(slots, extlib, workerHeapMib, workerOptions, overrides);
        validate(settings);
        StormHome storm = StormHome.at(home);
        ClusterDirectory directory = ClusterDirectory.at(dir);
        FileLock lock = directory.tryLock().orElseThrow(() -> new IOException(directory.path()
            + " is held by a running cluster: end it (local-storm down --dir " + dir + ") or give another directory"));
        try (lock) {
            Endpoints endpoints = Endpoints.choose(slots, drpc ? drpcThreads : 0);
            endLeftovers(directory);
            directory.clean();
            storm.equip(directory, settings, endpoints);
            return run(new Cluster(directory, endpoints));
        }
    }

    private void validate(ClusterSettings settings) {
        require(slots >= 1 && slots <= MAX_SLOTS, "--slots must be 1 to " + MAX_SLOTS);
        require(workerHeapMib >= MIN_HEAP_MIB, "--worker-heap-mib must be at least " + MIN_HEAP_MIB);
        require(drpcThreads >= DrpcServer.MIN_HTTP_THREADS, "--drpc-threads must be at least " + DrpcServer.MIN_HTTP_THREADS);
        extlib.forEach(jar -> require(Files.isRegularFile(jar), "--extlib " + jar + " is not a file"));
        require(settings.refusedOverrides().isEmpty(), "the launcher itself sets " + settings.refusedOverrides()
            + ": leave out -c (options of workers go into --worker-opts)");
    }

    private void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new ParameterException(spec.commandLine(), otherwise);
        }
    }

    private static void endLeftovers(ClusterDirectory directory) throws IOException {
        int ended = Leftovers.of(directory).end();
        if (ended > 0) {
            LocalStorm.progress("ended " + ended + " processes that an earlier cluster had left behind");
        }
    }

    private int run(Cluster cluster) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> stopAndHalt(cluster), "stop-cluster"));
        if (stopWithStdin) {
            Thread watcher = new Thread(UpCommand::exitWithStdin, "stdin-watcher");
            watcher.setDaemon(true);
            watcher.start();
        }
        try {
            cluster.start();
            System.out.println(Json.write(cluster.readyLine()));
            System.out.flush();
            cluster.awaitDeath();
        } catch (IOException e) {
            if (!cluster.isStopping()) {
                LocalStorm.progress(e.getMessage());
            }
        } finally {
            // Whatever ends the wait before a stop was asked for, an Error too, is a failure.
            exitCode = cluster.isStopping() ? 0 : 1;
        }
        return exitCode;
    }

    private void stopAndHalt(Cluster cluster) {
        LocalStorm.progress("stopping");
        try {
            cluster.stop();
            LocalStorm.progress("stopped");
        } catch (IOException | RuntimeException | LinkageError e) {
            LocalStorm.progress("not stopped in order (" + e + "): run local-storm down --dir " + dir);
            exitCode = 1;
        }
        Runtime.getRuntime().halt(exitCode);
    }

    private static void exitWithStdin() {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException brokenIsAnEndToo) {
            LocalStorm.progress("stdin broke: " + brokenIsAnEndToo.getMessage());
        }
        System.exit(0);
    }
}
