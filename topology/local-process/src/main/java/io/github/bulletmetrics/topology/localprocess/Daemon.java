package io.github.bulletmetrics.topology.localprocess;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * One of the server's long-running processes, started by this launcher in a session of its own: a Ctrl-C in the
 * terminal, which goes to the whole foreground process group, does not reach it, so that the launcher can stop it in
 * order.
 */
public final class Daemon {
    private static final int TAIL_LINES = 25;

    private final String name;
    private final Process process;
    private final List<Path> logs;

    private Daemon(String name, Process process, List<Path> logs) {
        this.name = name;
        this.process = process;
        this.logs = logs;
    }

    /**
     * Starts a process in a directory.
     *
     * @param logs where its last lines are to be found; its output goes to the last of them
     * @param environment changes the environment that it inherits
     */
    public static Daemon start(String name, List<String> command, ProcessDirectory directory, List<Path> logs,
            Consumer<Map<String, String>> environment) throws IOException {
        List<String> detached = new ArrayList<>(List.of("setsid"));
        detached.addAll(command);
        ProcessBuilder builder = new ProcessBuilder(detached)
            .directory(directory.path().toFile())
            .redirectInput(new File("/dev/null"))
            .redirectErrorStream(true)
            .redirectOutput(logs.get(logs.size() - 1).toFile());
        environment.accept(builder.environment());
        try {
            return new Daemon(name, builder.start(), logs);
        } catch (IOException e) {
            throw new IOException("cannot start " + name + ": " + e.getMessage()
                    + " (setsid is in the package util-linux)", e);
        }
    }

    public String name() {
        return name;
    }

    public long pid() {
        return process.pid();
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** Waits for the end of the process and returns its code. */
    public int waitFor() throws InterruptedException {
        return process.waitFor();
    }

    /** @throws IllegalThreadStateException while the process is alive */
    public int exitCode() {
        return process.exitValue();
    }

    /** Completes when the process has ended. */
    public CompletableFuture<Process> onExit() {
        return process.onExit();
    }

    /** The process as the kernel names it; empty when it has ended already. */
    public Optional<ProcessId> identity() {
        return new ProcessTable().startTicks(pid()).map(startTicks -> new ProcessId(pid(), startTicks));
    }

    /** Ends the process by SIGTERM and, if it still lives at the deadline, by SIGKILL. */
    public void stop(Deadline deadline) {
        process.destroy();
        if (!deadline.await(() -> !process.isAlive())) {
            process.destroyForcibly();
        }
    }

    /** How the process ended, with the last lines that it wrote. */
    public String obituary() {
        StringBuilder text = new StringBuilder(name + " (pid " + pid() + ") ended unexpectedly with code "
                + exitCode());
        for (Path log : logs) {
            text.append("\n--- last lines of ").append(log);
            tail(log).forEach(line -> text.append("\n").append(line));
        }
        return text.toString();
    }

    private static List<String> tail(Path log) {
        try {
            List<String> lines = new String(Files.readAllBytes(log), StandardCharsets.UTF_8).lines().toList();
            return lines.subList(Math.max(0, lines.size() - TAIL_LINES), lines.size());
        } catch (IOException e) {
            return List.of("(cannot be read: " + e.getMessage() + ")");
        }
    }
}
