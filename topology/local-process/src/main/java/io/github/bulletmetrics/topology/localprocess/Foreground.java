package io.github.bulletmetrics.topology.localprocess;

import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;

/**
 * Runs a server in the foreground, until a signal, the end of stdin (where asked for), or the death of one of its
 * processes.
 *
 * <p>There is one way out: the shutdown hook stops the server and ends the JVM with the code that the main thread left,
 * 0 for a signal. A second signal finds the hook running and changes nothing.
 */
public final class Foreground {
    private final Program program;
    private final ProcessDirectory directory;
    private final Server server;

    private volatile int exitCode;

    /**
     * What runs. {@link #start} and {@link #awaitDeath} belong to one thread; {@link #stop} may be called by another at
     * any time, also in the middle of the start, and more than once.
     */
    public interface Server {
        /** Returns when the server is up, with the line that its starter reads. */
        Map<String, Object> start() throws IOException, InterruptedException;

        /** Returns only by the exception that names the process that died. */
        void awaitDeath() throws IOException, InterruptedException;

        boolean isStopping();

        /** @throws IOException when a process survives even SIGKILL */
        void stop() throws IOException;
    }

    public Foreground(Program program, ProcessDirectory directory, Server server) {
        this.program = program;
        this.directory = directory;
        this.server = server;
    }

    /** Starts the server, prints its line on stdout, and returns its exit code when it has died or was stopped. */
    public int run(boolean stopWithStdin) {
        Runtime.getRuntime().addShutdownHook(new Thread(this::stopAndHalt, "stop"));
        if (stopWithStdin) {
            Thread watcher = new Thread(this::exitWithStdin, "stdin-watcher");
            watcher.setDaemon(true);
            watcher.start();
        }
        try {
            Program.print(server.start());
            server.awaitDeath();
        } catch (IOException e) {
            if (!server.isStopping()) {
                program.progress(e.getMessage());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            // Whatever ends the wait before a stop was asked for, an Error too, is a failure.
            exitCode = server.isStopping() ? 0 : 1;
        }
        return exitCode;
    }

    private void stopAndHalt() {
        program.progress("stopping");
        try {
            server.stop();
            program.progress("stopped");
        } catch (IOException | RuntimeException | LinkageError e) {
            program.progress("stopping failed (" + e + "): run " + program.name() + " down --dir "
                    + directory.path());
            exitCode = 1;
        }
        Runtime.getRuntime().halt(exitCode);
    }

    private void exitWithStdin() {
        try {
            System.in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException brokenIsAnEndToo) {
            program.progress("reading stdin failed: " + brokenIsAnEndToo.getMessage());
        }
        System.exit(0);
    }
}
