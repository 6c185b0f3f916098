package io.github.bulletmetrics.topology.localstorm;

import java.io.IOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Runs a class that submits a topology, in a JVM of its own, as {@code storm jar} does. */
@Command(name = "submit", mixinStandardHelpOptions = true,
    description = "Runs a main class of a jar with Storm's client class path; passes on its output (to stderr) and exit code.")
final class SubmitCommand implements Callable<Integer> {
    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of a running cluster.")
    private Path dir;

    @Option(names = "--jar", required = true, paramLabel = "JAR",
            description = "The topology's jar, with all dependencies except Storm.")
    private Path jar;

    @Option(names = "--main", required = true, paramLabel = "CLASS",
            description = "The class whose main method submits.")
    private String mainClass;

    @Option(names = "--name", paramLabel = "NAME",
            description = "Name of the topology. It is passed to the class as the Storm option"
        + " topology.name, and the command fails unless Nimbus knows a topology of this name afterwards.")
    private String name;

    @Parameters(paramLabel = "ARGS", description = "Arguments of the class, after --.")
    private List<String> arguments = List.of();

    @Override
    public Integer call() throws IOException, InterruptedException {
        ClusterDirectory directory = ClusterDirectory.at(dir);
        ClusterRecord record = directory.requireReady();
        if (!Files.isRegularFile(jar)) {
            throw new IOException("--jar " + jar + " is not a file");
        }
        int code = run(new JvmCommand(directory).submitter(jar.toAbsolutePath(), mainClass, stormOptions(), arguments));
        if (code == 0 && name != null && !isKnown(NimbusConnector.connect(directory, record.endpoints()))) {
            throw new IOException(mainClass + " ended with 0, but Nimbus has no topology " + name);
        }
        return code;
    }

    private String stormOptions() {
        return name == null ? "" : URLEncoder.encode("topology.name=" + name, StandardCharsets.UTF_8);
    }

    private boolean isKnown(Nimbus nimbus) throws IOException {
        return nimbus.view().topologies().stream().anyMatch(topology -> topology.name().equals(name));
    }

    /**
     * Both streams of the class go to stderr. It ends with this process; one that is killed leaves it to {@code down}.
     */
    private static int run(List<String> command) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        JvmCommand.environment(builder.environment());
        Process process = builder.start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroy, "stop-submitter"));
        process.getOutputStream().close();
        process.getInputStream().transferTo(System.err);
        return process.waitFor();
    }
}
