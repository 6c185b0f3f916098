package io.github.bulletmetrics.storm.noharm;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A collector in a process of its own: the real one, or a hostile one. */
final class Collector implements AutoCloseable {
    private static final Pattern UP = Pattern.compile("(?:collector is up.* grpc=|hostile at )\\S*?:(\\d+)");
    private static final int PATIENCE_S = 60;

    private final Process process;
    private final Path directory;
    private final int port;

    private Collector(Path directory, ProcessBuilder command) throws IOException, InterruptedException {
        this.directory = directory;
        process = command.redirectErrorStream(true).start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        CompletableFuture<Integer> up = new CompletableFuture<>();
        Thread follower = new Thread(() -> follow(directory.resolve("log"), up), "collector-log");
        follower.setDaemon(true);
        follower.start();
        try {
            port = up.get(PATIENCE_S, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException failed) {
            close();
            throw new IOException("the collector did not start: " + command.command(), failed);
        }
    }

    /** Copies what the process writes into a file until its end, and finds where it listens. */
    private void follow(Path log, CompletableFuture<Integer> up) {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(process.getInputStream(),
                StandardCharsets.UTF_8));
            BufferedWriter copy = Files.newBufferedWriter(log)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                copy.write(line);
                copy.newLine();
                copy.flush();
                Matcher address = UP.matcher(line);
                if (address.find()) {
                    up.complete(Integer.valueOf(address.group(1)));
                }
            }
            up.completeExceptionally(new EOFException("its output has ended"));
        } catch (IOException failed) {
            up.completeExceptionally(failed);
        }
    }

    /** The Go program, with a fresh data directory. */
    static Collector real(Path program) throws IOException, InterruptedException {
        Path directory = Files.createTempDirectory("bullet-metrics-bench");
        return new Collector(directory, new ProcessBuilder(program.toString(), "serve", "--data-dir",
                directory.resolve("data").toString(),
                "--grpc-listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"));
    }

    /** One of {@link HostileMain}'s. */
    static Collector hostile(String kind) throws IOException, InterruptedException {
        return new Collector(Files.createTempDirectory("bullet-metrics-bench"),
                new ProcessBuilder(Jvm.commandWithoutPlugin("-Xmx256m", HostileMain.class, kind)));
    }

    String address() {
        return "127.0.0.1:" + port;
    }

    @Override
    public void close() {
        process.destroy();
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
            try (Stream<Path> files = Files.walk(directory)) {
                files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
        } catch (InterruptedException hurried) {
            Thread.currentThread().interrupt();
        } catch (IOException left) {
            System.err.println("left behind: " + directory);
        }
    }
}
