package io.github.bulletmetrics.topology.clustertests;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * A process of ours, whose output goes to {@code NAME.stdout} and {@code NAME.stderr} in a folder. It ends with its
 * stdin.
 */
final class Child implements AutoCloseable {
    private static final Duration STOP_LIMIT = Duration.ofSeconds(30);
    private static final int TAIL_LINES = 40;

    private final String name;
    private final Path folder;
    private final Process process;

    private Child(String name, Path folder, Process process) {
        this.name = name;
        this.folder = folder;
        this.process = process;
    }

    /** A finished process: its exit code and what it printed. */
    record Result(int code, String stdout, String stderr) {
    }

    /** Starts {@code java} with arguments, in a working directory. */
    static Child java(String name, Path folder, Path directory, List<String> arguments) throws IOException {
        List<String> command =
                new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
        command.addAll(arguments);
        Files.createDirectories(folder);
        ProcessBuilder builder = new ProcessBuilder(command).directory(directory.toFile())
            .redirectOutput(folder.resolve(name + ".stdout").toFile())
            .redirectError(folder.resolve(name + ".stderr").toFile());
        builder.environment().remove("JAVA_HOME");
        return new Child(name, folder, builder.start());
    }

    /** The first line that the process prints, awaited. */
    String firstLine(Duration limit) {
        await(name + "'s first line").atMost(limit).until(() -> stdout().contains("\n") || !process.isAlive());
        String printed = stdout();
        if (!printed.contains("\n")) {
            throw new AssertionError(name + " ended with " + process.exitValue() + " and printed nothing\n" + tail());
        }
        return printed.substring(0, printed.indexOf('\n'));
    }

    /** Waits for the end. */
    Result end(Duration limit) throws InterruptedException {
        if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
            close();
            throw new AssertionError(name + " did not end within " + limit + "\n" + tail());
        }
        return new Result(process.exitValue(), stdout(), stderr());
    }

    String stdout() {
        return read(folder.resolve(name + ".stdout"));
    }

    String stderr() {
        return read(folder.resolve(name + ".stderr"));
    }

    /** The end of what it wrote to stderr. */
    String tail() {
        return tail(folder.resolve(name + ".stderr"));
    }

    /** The end of a log, under its name. */
    static String tail(Path log) {
        List<String> lines = read(log).lines().toList();
        return "--- last lines of " + log + "\n"
            + String.join("\n", lines.subList(Math.max(0, lines.size() - TAIL_LINES), lines.size())) + "\n";
    }

    private static String read(Path file) {
        try {
            return Files.exists(file) ? Files.readString(file) : "";
        } catch (IOException e) {
            return "(cannot be read: " + e + ")";
        }
    }

    /** SIGTERM, and SIGKILL for one that does not go. */
    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(STOP_LIMIT.toSeconds(), TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }
}
