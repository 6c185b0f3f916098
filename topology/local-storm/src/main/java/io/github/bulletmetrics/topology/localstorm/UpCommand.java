package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Foreground;
import io.github.bulletmetrics.topology.localprocess.Program;
import java.io.IOException;
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
import picocli.CommandLine.Spec;

/**
 * Runs the cluster in the foreground, until a signal, the end of stdin (where asked for), or the death of one of its
 * processes.
 */
@Command(name = "up", mixinStandardHelpOptions = true,
    description = "Starts a cluster and keeps it running; prints a line of JSON on stdout when it is ready, and when a process was restarted.")
final class UpCommand implements Callable<Integer> {
    private static final int MAX_SLOTS = 64;
    private static final int MIN_HEAP_MIB = 32;

    @Option(names = "--dir", required = true, paramLabel = "DIR",
            description = "Directory of the cluster's state and logs.")
    private Path dir;

    @Option(names = "--home", required = true, paramLabel = "STORM_HOME",
            description = "The distribution: lib and lib-worker.")
    private Path home;

    @Option(names = "--slots", defaultValue = "2", paramLabel = "N",
            description = "Worker slots (default: ${DEFAULT-VALUE}).")
    private int slots;

    @Option(names = "--extlib", paramLabel = "JAR",
        description = "A jar for the class path of every worker, submitter and daemon; may be repeated.")
    private List<Path> extlib = List.of();

    @Option(names = "--worker-heap-mib", defaultValue = "" + ClusterSettings.DEFAULT_WORKER_HEAP_MIB, paramLabel = "M",
        description = "Heap limit of each worker in MiB (default: ${DEFAULT-VALUE}).")
    private int workerHeapMib;

    @Option(names = "--worker-opts", defaultValue = "", paramLabel = "OPTS",
            description = "More JVM options of each worker.")
    private String workerOptions;

    @Option(names = "--drpc", description = "Also starts a DRPC server; its port is drpc_http_port in the output.")
    private boolean drpc;

    @Option(names = "--drpc-threads", defaultValue = "" + DrpcServer.DEFAULT_HTTP_THREADS, paramLabel = "N",
        description = "Threads of its HTTP port. Each call occupies one, and the server about three (default:"
            + " ${DEFAULT-VALUE}, as in Storm).")
    private int drpcThreads;

    @Option(names = "-c", paramLabel = "storm.key=value", description = "A setting of storm.yaml; may be repeated.")
    private Map<String, String> overrides = new LinkedHashMap<>();

    @Option(names = "--stop-with-stdin", description = "Stops when stdin ends, for example because the parent died.")
    private boolean stopWithStdin;

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException {
        ClusterSettings settings = new ClusterSettings(slots, extlib, workerHeapMib, workerOptions, overrides);
        validate(settings);
        StormHome storm = StormHome.at(home);
        ClusterDirectory directory = ClusterDirectory.at(dir);
        try (FileLock lock = directory.lockFor("cluster")) {
            Endpoints endpoints = Endpoints.choose(slots, drpc ? drpcThreads : 0);
            directory.endLeftovers();
            directory.clean();
            storm.equip(directory, settings, endpoints);
            return new Foreground(LocalStorm.PROGRAM, directory, new Cluster(directory, endpoints)).run(stopWithStdin);
        }
    }

    private void validate(ClusterSettings settings) {
        Program.require(spec, slots >= 1 && slots <= MAX_SLOTS, "--slots must be 1 to " + MAX_SLOTS);
        Program.require(spec, workerHeapMib >= MIN_HEAP_MIB, "--worker-heap-mib must be at least " + MIN_HEAP_MIB);
        Program.require(spec, drpcThreads >= DrpcServer.MIN_HTTP_THREADS, "--drpc-threads must be at least "
                + DrpcServer.MIN_HTTP_THREADS);
        extlib.forEach(jar -> Program.require(spec, Files.isRegularFile(jar), "--extlib " + jar + " is not a file"));
        Program.require(spec, settings.refusedOverrides().isEmpty(), "the launcher itself sets "
                + settings.refusedOverrides()
            + "; remove -c (use --worker-opts for options of workers)");
    }
}
