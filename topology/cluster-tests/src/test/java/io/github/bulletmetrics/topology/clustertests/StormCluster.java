package io.github.bulletmetrics.topology.clustertests;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The local Storm cluster of {@code topology/local-storm}: ZooKeeper, Nimbus, a Supervisor and workers as processes of
 * their own, started from the finished launcher. Get it from {@link ClusterExtension}, which starts one for all classes
 * of a run.
 */
final class StormCluster implements AutoCloseable {
    static final Path TOPOLOGY = Path.of(System.getProperty("topology.folder", "..")).toAbsolutePath().normalize();
    static final Path TOPOLOGY_JAR = TOPOLOGY.resolve("bullet-topology/target/bullet-topology.jar");
    static final Path SAMPLE_SETTINGS = TOPOLOGY.resolve("bullet-topology/conf/bullet_settings.yaml");
    /** Not a dependency, since Maven would then run the plugin's tests before each of these. */
    private static final Path PLUGIN_JAR = TOPOLOGY.resolveSibling("plugin-java/target/bullet-metrics-storm.jar");
    private static final Path LAUNCHER = TOPOLOGY.resolve("local-storm/target/local-storm.jar");
    private static final Path HOME = TOPOLOGY.resolve("local-storm/target/storm");
    private static final int SLOTS = 4;
    private static final int WORKER_HEAP_MIB = 320;
    /** Of the DRPC server's HTTP port. */
    static final int DRPC_THREADS = 16;
    private static final Duration UP_LIMIT = Duration.ofSeconds(300);
    private static final Duration COMMAND_LIMIT = Duration.ofSeconds(300);
    private static final int DEATH_LIMIT_SECS = 20;

    private final Path folder;
    private final Child up;
    private final JsonObject ready;
    private int commands;

    /** A worker JVM: the topology's name, its slot and its pid. */
    record Worker(String topology, int port, long pid) {
    }

    /** Starts a cluster with state and logs below a folder, and returns when it can take a topology. */
    StormCluster(Path folder) throws IOException {
        this.folder = folder;
        if (!Files.isRegularFile(PLUGIN_JAR)) {
            throw new AssertionError(PLUGIN_JAR + " is missing: type make build first");
        }
        List<String> arguments = launcher("up", "--home", HOME.toString(), "--slots", "" + SLOTS,
            "--worker-heap-mib", "" + WORKER_HEAP_MIB, "--stop-with-stdin", "--extlib", PLUGIN_JAR.toString(),
            "--drpc", "--drpc-threads", "" + DRPC_THREADS);
        up = Child.java("up", folder, folder, arguments);
        ready = new JsonParser().parse(up.firstLine(UP_LIMIT)).getAsJsonObject();
    }

    /** Storm's own folder: {@code conf}, {@code lib-worker}, {@code extlib}, {@code logs}. */
    Path home() {
        return folder.resolve("storm");
    }

    /** What the launcher said when the cluster was up: {@code nimbus_thrift_port} and so on. */
    JsonObject ready() {
        return ready;
    }

    Path folder() {
        return folder;
    }

    private List<String> launcher(String command, String... options) {
        List<String> arguments = new ArrayList<>(
            List.of("-Xmx64m", "-jar", LAUNCHER.toString(), command, "--dir", home().toString()));
        arguments.addAll(List.of(options));
        return arguments;
    }

    /** Runs a command of the launcher to its end. */
    Child.Result run(String command, String... options) throws IOException, InterruptedException {
        return Child.java(command + "-" + ++commands, folder, folder, launcher(command, options)).end(COMMAND_LIMIT);
    }

    /** Submits the topology's jar as {@code storm jar} does and returns when Nimbus knows the topology. */
    void submit(String name, String mainClass, List<String> arguments) throws IOException, InterruptedException {
        List<String> options = new ArrayList<>(
            List.of("--jar", TOPOLOGY_JAR.toString(), "--main", mainClass, "--name", name, "--"));
        options.addAll(arguments);
        Child.Result result = run("submit", options.toArray(String[]::new));
        if (result.code() != 0) {
            throw new AssertionError("submitting " + name + " ended with " + result.code() + "\n" + result.stderr());
        }
    }

    /** Kills a topology and returns when its workers have ended. */
    void kill(String topology) throws IOException, InterruptedException {
        Child.Result result = run("kill", "--topology", topology);
        if (result.code() != 0) {
            throw new AssertionError("killing " + topology + " ended with " + result.code() + "\n" + result.stderr());
        }
    }

    /** The live workers of a topology, as the machine has them. */
    List<Worker> workers(String topology) throws IOException, InterruptedException {
        JsonArray workers = new JsonParser().parse(run("workers").stdout()).getAsJsonArray();
        List<Worker> found = new ArrayList<>();
        for (JsonElement worker : workers) {
            JsonObject entry = worker.getAsJsonObject();
            found.add(new Worker(entry.get("topology").getAsString(), entry.get("port").getAsInt(),
                    entry.get("pid").getAsLong()));
        }
        return found.stream().filter(worker -> worker.topology().equals(topology)).toList();
    }

    /** {@code kill -9}; returns when the process is gone. Storm starts another in its slot. */
    static void killHard(Worker worker) throws Exception {
        ProcessHandle process = ProcessHandle.of(worker.pid())
                .orElseThrow(() -> new AssertionError(worker + " is gone"));
        process.destroyForcibly();
        process.onExit().get(DEATH_LIMIT_SECS, TimeUnit.SECONDS);
    }

    /** The ends of all logs: the launcher's, the daemons' and the workers'. */
    String logs() throws IOException {
        StringBuilder text = new StringBuilder(up.tail());
        if (!Files.isDirectory(home().resolve("logs"))) {
            return text.toString();
        }
        try (Stream<Path> files = Files.walk(home().resolve("logs"))) {
            files.filter(file -> file.toString().matches(".*(worker|nimbus|supervisor|drpc)\\.log(\\.err)?"))
                .sorted().map(Child::tail).forEach(text::append);
        }
        return text.toString();
    }

    /** Stops the cluster, ends whatever is left of it, and removes the folder. */
    @Override
    public void close() throws IOException, InterruptedException {
        up.close();
        Child.Result down = run("down");
        if (down.code() != 0) {
            throw new AssertionError("the cluster in " + folder + " left something running\n" + down.stderr());
        }
        remove(folder);
    }

    private static void remove(Path folder) throws IOException {
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, IOException failure) throws IOException {
                Files.delete(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
