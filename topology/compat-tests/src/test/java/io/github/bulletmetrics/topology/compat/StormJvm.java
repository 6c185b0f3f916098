package io.github.bulletmetrics.topology.compat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A {@link StormProcess} that has been started, and what the operating system says of it. */
final class StormJvm implements AutoCloseable {
    /** With G1 it is to the byte what the JVM says its limit is. */
    static final int HEAP_MIB = 384;
    private static final long CPU_INTERVAL_MS = 200;
    private static final int TAIL_LINES = 15;

    private final Path temporary;
    private final Process process;
    private final Path log;
    private final ConcurrentSkipListMap<Long, Reading> readings = new ConcurrentSkipListMap<>();
    private final Thread cpu = new Thread(this::watchCpu, "cpu of a Storm");

    /** Starts one; its output goes to a file of its own below the folder. */
    StormJvm(Setup setup, Path folder, String collector) throws IOException {
        Path hosts = folder.resolve("hosts");
        Files.writeString(hosts, "127.0.0.1 localhost\n127.0.0.1 localhost/<unresolved>\n127.0.0.1 "
                + InetAddress.getLocalHost().getHostName() + "\n");
        temporary = Files.createTempDirectory(folder, "tmp-");
        log = Files.createTempFile(folder, setup.topology() + "-", ".log");
        List<String> command =
                new ArrayList<>(List.of(setup.java().program(),
                "-XX:+UseG1GC",
            "-Xmx" + HEAP_MIB + "m", "-XX:TieredStopAtLevel=1", "-Dlog4j.configurationFile=log4j2-compat.xml",
            "-Djava.io.tmpdir=" + temporary));
        command.addAll(setup.flags(hosts));
        if (setup.stormFrom(2, 2, 0)) {
            command.add("-Dstorm.options=storm.metricstore.class=org.apache.storm.metricstore.NoOpMetricStore");
        }
        command.addAll(List.of("-cp", setup.classPath(folder), StormProcess.class.getName(), setup.topology(),
                setup.whole() ? "whole" : "small",
            setup.registration().name(), setup.bullet().version(), collector));
        process = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true)
                .redirectOutput(log.toFile()).start();
        cpu.setDaemon(true);
        cpu.start();
    }

    private void watchCpu() {
        while (process.isAlive()) {
            long before = System.currentTimeMillis();
            process.info().totalCpuDuration().map(Duration::toMillis)
                .ifPresent(ms -> readings.put(before, new Reading(before, System.currentTimeMillis(), ms / 1000.0)));
            try {
                Thread.sleep(CPU_INTERVAL_MS);
            } catch (InterruptedException closed) {
                return;
            }
        }
    }

    /**
     * The CPU time that it had at least by a moment, as the operating system counts it; none where nothing was read
     * before.
     */
    Optional<Double> cpuSecondsAtLeast(long ms) {
        return readings.headMap(ms, true).descendingMap().values().stream().filter(reading -> reading.untilMs() <= ms)
                .findFirst()
            .map(Reading::cpuSeconds);
    }

    /**
     * The CPU time that it had at most at a moment, as the operating system counts it; none where nothing was read
     * since.
     */
    Optional<Double> cpuSecondsAtMost(long ms) {
        return Optional.ofNullable(readings.ceilingEntry(ms)).map(entry -> entry.getValue().cpuSeconds());
    }

    /** A reading of the CPU time, taken at some moment of a span of Unix milliseconds. */
    private record Reading(long fromMs, long untilMs, double cpuSeconds) {
    }

    /** Runs something when it has ended. */
    void onExit(Runnable then) {
        process.onExit().thenRun(then);
    }

    boolean isAlive() {
        return process.isAlive();
    }

    /** What it has done, once it has said so. */
    Optional<Truth> truth() {
        return Truth.of(printed());
    }

    private String printed() {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The end of what it printed. */
    String tail() {
        List<String> lines = printed().lines().toList();
        return "--- last lines of " + log + "\n"
                + String.join("\n", lines.subList(Math.max(0, lines.size() - TAIL_LINES), lines.size()));
    }

    /** What Storm would have deleted had it been asked to end. */
    private void deleteTemporary() {
        if (Files.notExists(temporary)) {
            return;
        }
        try (Stream<Path> all = Files.walk(temporary)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** SIGKILL: a worker has no more chance than that in an accident. */
    @Override
    public void close() {
        cpu.interrupt();
        process.destroyForcibly();
        try {
            process.waitFor(10, TimeUnit.SECONDS);
            deleteTemporary();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
