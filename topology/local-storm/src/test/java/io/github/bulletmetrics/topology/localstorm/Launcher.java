package io.github.bulletmetrics.topology.localstorm;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;

/** Runs the finished jar, as its users do. */
final class Launcher {
    static final Path TARGET = Path.of(System.getProperty("local.storm.target", "target")).toAbsolutePath();
    /** Ends a command that hangs. Under load, the start of a JVM alone has taken 84 s. */
    private static final int COMMAND_LIMIT_SECS = 600;

    private final Path output;

    /** Keeps what the commands print in this directory. */
    Launcher(Path output) {
        this.output = output;
    }

    record Result(int code, String stdout, String stderr) {
    }

    /**
     * Starts {@code up} as the leader of a process group of its own and with no signal ignored, as a terminal's shell
     * does: these tests may themselves run in the background, where a shell has SIGINT ignored, which a JVM inherits.
     */
    Process up(Path dir, String... options) throws IOException {
        List<String> arguments = new ArrayList<>(List.of("up", "--dir", dir.toString(), "--home",
                TARGET.resolve("storm").toString()));
        arguments.addAll(Arrays.asList(options));
        List<String> command = new ArrayList<>(List.of("setsid", "env", "--default-signal=INT"));
        command.addAll(command(arguments));
        return start(command, "up");
    }

    /** Runs another command to its end. */
    Result run(String... arguments) throws IOException, InterruptedException {
        Process process = start(command(Arrays.asList(arguments)), arguments[0]);
        if (!process.waitFor(COMMAND_LIMIT_SECS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError(Arrays.toString(arguments) + " did not end; stderr: " + stderr(arguments[0]));
        }
        return new Result(process.exitValue(), stdout(arguments[0]), stderr(arguments[0]));
    }

    /** What the last run of the command has written so far. */
    String stdout(String command) throws IOException {
        return Files.readString(output.resolve(command + ".stdout"));
    }

    String stderr(String command) throws IOException {
        return Files.readString(output.resolve(command + ".stderr"));
    }

    /** Packs the word count's classes into a jar. */
    Path wordCountJar() throws IOException {
        Path classes = TARGET.resolve("test-classes");
        Path jar = output.resolve("word-count.jar");
        try (OutputStream file = Files.newOutputStream(jar); JarOutputStream entries = new JarOutputStream(file);
             var found = Files.walk(classes.resolve("io/github/bulletmetrics/topology/localstorm/wordcount"))) {
            for (Path type : found.filter(Files::isRegularFile).toList()) {
                entries.putNextEntry(new JarEntry(classes.relativize(type).toString()));
                Files.copy(type, entries);
            }
        }
        return jar;
    }

    private static List<String> command(List<String> arguments) {
        List<String> command =
                new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", TARGET.resolve("local-storm.jar")
            .toString()));
        command.addAll(arguments);
        return command;
    }

    private Process start(List<String> command, String name) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command)
            .redirectOutput(output.resolve(name + ".stdout").toFile())
            .redirectError(output.resolve(name + ".stderr").toFile());
        builder.environment().remove("JAVA_HOME");
        return builder.start();
    }
}
