package io.github.bulletmetrics.topology.localkafka;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The running broker. {@link #start} and {@link #awaitDeath} belong to one thread; {@link #stop} may be called by another at any
 * time, also in the middle of the start, and more than once.
 */
final class Broker {
    private static final Duration START_LIMIT = Duration.ofSeconds(120);
    /** Within the 10 s that the launcher has: first in order, then by force. */
    private static final Duration ORDERLY_STOP_LIMIT = Duration.ofSeconds(8);
    private static final Duration KILL_LIMIT = Duration.ofSeconds(2);
    private static final long POLL_MS = 100;
    private static final int TAIL_LINES = 25;

    private final BrokerDirectory directory;
    private final KafkaHome home;
    private final BrokerSettings settings;
    private Process process;
    private boolean stopping;

    /** Where a broker that is up listens, and its process. */
    record Ready(String bootstrap, long pid) {
    }

    Broker(BrokerDirectory directory, KafkaHome home, BrokerSettings settings) {
        this.directory = directory;
        this.home = home;
        this.settings = settings;
    }

    /**
     * Formats the directory, starts the broker and returns when it answers a client.
     *
     * @throws IOException when it dies or is not up within two minutes, or was stopped
     */
    Ready start() throws IOException, InterruptedException {
        List<Integer> ports = FreePorts.choose(2);
        settings.write(directory, ports.get(0), ports.get(1));
        Files.createDirectories(directory.logs());
        launch("format", home.format(directory));
        if (process.waitFor() != 0) {
            throw new IOException("the directory cannot be formatted" + tail("format"));
        }
        launch("broker", home.broker(directory, settings.heapMib()));
        Ready ready = new Ready(BrokerSettings.HOST + ":" + ports.get(0), process.pid());
        awaitAnswer(ready);
        directory.saveReady(ready);
        return ready;
    }

    private void awaitAnswer(Ready ready) throws IOException, InterruptedException {
        long start = System.nanoTime();
        while (!Topics.answer(ready.bootstrap())) {
            failIfStopping();
            failIfDead();
            if (System.nanoTime() - start > START_LIMIT.toNanos()) {
                throw new IOException("the broker does not answer after " + START_LIMIT.toSeconds() + " s" + tail("broker"));
            }
            TimeUnit.MILLISECONDS.sleep(POLL_MS);
        }
    }

    /** Returns only by the exception that tells how the broker died. */
    void awaitDeath() throws IOException, InterruptedException {
        process.waitFor();
        failIfStopping();
        failIfDead();
    }

    /** In a session of its own, so that a Ctrl-C in the terminal reaches the launcher alone; not after a stop has begun. */
    private synchronized void launch(String name, List<String> command) throws IOException {
        failIfStopping();
        List<String> detached = new ArrayList<>(List.of("setsid"));
        detached.addAll(command);
        process = new ProcessBuilder(detached)
            .directory(directory.path().toFile())
            .redirectInput(new File("/dev/null"))
            .redirectErrorStream(true)
            .redirectOutput(log(name).toFile())
            .start();
    }

    private synchronized void failIfStopping() throws IOException {
        if (stopping) {
            throw new IOException("stopped");
        }
    }

    synchronized boolean isStopping() {
        return stopping;
    }

    private void failIfDead() throws IOException {
        if (!process.isAlive()) {
            throw new IOException("the broker (pid " + process.pid() + ") ended unexpectedly with code " + process.exitValue()
                + tail("broker"));
        }
    }

    private Path log(String name) {
        return directory.logs().resolve(name + ".log");
    }

    private String tail(String name) throws IOException {
        List<String> lines = Files.readAllLines(log(name));
        return "; last lines of " + log(name) + ":\n"
            + String.join("\n", lines.subList(Math.max(0, lines.size() - TAIL_LINES), lines.size()));
    }

    /**
     * Ends the broker, by SIGTERM and then by SIGKILL, within 10 s, and removes its topics.
     *
     * @throws IOException when a process survives even SIGKILL
     */
    void stop() throws IOException {
        synchronized (this) {
            stopping = true;
        }
        end(directory);
        directory.removeData();
    }

    /**
     * Ends whatever runs for a directory.
     *
     * @return how many processes there were
     */
    static int end(BrokerDirectory directory) throws IOException {
        List<ProcessHandle> found = directory.processes();
        found.forEach(ProcessHandle::destroy);
        if (!gone(directory, ORDERLY_STOP_LIMIT)) {
            directory.processes().forEach(ProcessHandle::destroyForcibly);
            if (!gone(directory, KILL_LIMIT)) {
                throw new IOException("cannot end " + directory.processes().stream().map(ProcessHandle::pid).toList()
                    + ": end them by hand (kill -9)");
            }
        }
        return found.size();
    }

    private static boolean gone(BrokerDirectory directory, Duration limit) {
        long start = System.nanoTime();
        while (!directory.processes().isEmpty()) {
            if (System.nanoTime() - start > limit.toNanos()) {
                return false;
            }
            try {
                TimeUnit.MILLISECONDS.sleep(POLL_MS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return false;
            }
        }
        return true;
    }
}
