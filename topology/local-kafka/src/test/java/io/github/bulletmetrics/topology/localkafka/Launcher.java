package io.github.bulletmetrics.topology.localkafka;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs the finished jar, as its users do. */
final class Launcher {
    private static final Path TARGET = Path.of(System.getProperty("local.kafka.target", "target")).toAbsolutePath();
    /** Ends a command that hangs. Under load, the start of a JVM alone has taken 84 s. */
    private static final int COMMAND_LIMIT_SECS = 600;

    private final Path output;

    /** Keeps what the commands print in this directory. */
    Launcher(Path output) {
        this.output = output;
    }

    record Result(int code, String stdout, String stderr) {
    }

    /** Starts {@code up} as the leader of a process group of its own, as a shell does. */
    Process up(Path dir, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of("setsid"));
        command.addAll(command("up", "--dir", dir.toString()));
        command.addAll(Arrays.asList(options));
        return start(command, "up");
    }

    /** Runs another command to its end. */
    Result run(String... arguments) throws IOException, InterruptedException {
        Process process = start(command(arguments), arguments[0]);
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

    private static List<String> command(String... arguments) {
        List<String> command =
                new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", TARGET.resolve("local-kafka.jar")
            .toString()));
        command.addAll(Arrays.asList(arguments));
        return command;
    }

    private Process start(List<String> command, String name) throws IOException {
        return new ProcessBuilder(command)
            .redirectOutput(output.resolve(name + ".stdout").toFile())
            .redirectError(output.resolve(name + ".stderr").toFile())
            .start();
    }
}
