package io.github.bulletmetrics.storm.noharm;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.concurrent.TimeUnit;
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
        Path log = directory.resolve("log");
        process = command.redirectErrorStream(true).redirectOutput(log.toFile()).start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE_S);
        Matcher up = UP.matcher("");
        while (!up.find()) {
            if (!process.isAlive() || System.nanoTime() > deadline) {
                close();
                throw new IOException("the collector did not start: " + command.command());
            }
            Thread.sleep(50);
            up = UP.matcher(new String(Files.readAllBytes(log), StandardCharsets.UTF_8));
        }
        port = Integer.parseInt(up.group(1));
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
