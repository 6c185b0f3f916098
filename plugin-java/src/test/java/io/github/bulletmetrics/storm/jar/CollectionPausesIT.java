package io.github.bulletmetrics.storm.jar;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.tools.ToolProvider;
import org.assertj.core.api.SoftAssertions;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compares what the worker's sampler reports of garbage collection with the JVM's own log and with jstat, for each
 * collector of the build's JVM and of those whose homes the environment's GC_JVMS names, separated by spaces. JVMs from
 * JDK 11 on have such a log. It prints a table; {@code make gc-table} runs it on all JVMs that it finds.
 */
@Tag("slow")
class CollectionPausesIT {
    /** The flags of each collector. A JVM that refuses or ignores them does not have it. */
    private static final Map<String, List<String>> COLLECTORS = new LinkedHashMap<>();
    private static final String ENOUGH_MS = System.getenv().getOrDefault("GC_PAUSES_MS", "300");
    /** ZGC and Shenandoah hardly pause, so that this ends their runs. */
    private static final String MOST_SECONDS = System.getenv().getOrDefault("GC_SECONDS", "5");
    private static final double MOST_DIFFERENCE = 0.01;
    /** A JVM reports each collector's time in whole ms. */
    private static final double RESOLUTION_MS = 1;
    /** The log's clock of a pause starts a little before the collector's own. */
    private static final double START_MS = 0.02;

    static {
        COLLECTORS.put("Serial", List.of("-XX:+UseSerialGC"));
        COLLECTORS.put("Parallel", List.of("-XX:+UseParallelGC"));
        COLLECTORS.put("CMS", List.of("-XX:+UseConcMarkSweepGC"));
        // Concurrent cycles, with their remark and cleanup pauses, all the time, and one at the end at least.
        COLLECTORS.put("G1", List.of("-XX:+UseG1GC", "-XX:InitiatingHeapOccupancyPercent=10", "-XX:-G1UseAdaptiveIHOP",
                "-XX:+ExplicitGCInvokesConcurrent"));
        COLLECTORS.put("Shenandoah", List.of("-XX:+UseShenandoahGC"));
        COLLECTORS.put("Shenandoah, generational",
                List.of("-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"));
        COLLECTORS.put("ZGC", List.of("-XX:+UseZGC"));
        COLLECTORS.put("ZGC, generational", List.of("-XX:+UseZGC", "-XX:+ZGenerational"));
        COLLECTORS.put("Epsilon", List.of("-XX:+UseEpsilonGC"));
    }

    @TempDir
    Path directory;

    @Test
    void pausesAreThoseOfTheLog() throws Exception {
        Path classes = compiledForOldJvms();
        SoftAssertions all = new SoftAssertions();
        List<String> table = new ArrayList<>(List.of(
                "| JVM | collector | pauses | log, ms | ours, ms | difference | jstat, ms | concurrent cycles, ms |",
                "|---|---|---|---|---|---|---|---|"));
        for (Path home : jvms()) {
            for (Map.Entry<String, List<String>> collector : COLLECTORS.entrySet()) {
                if (has(home, collector.getValue())) {
                    Run run = new Run(home, collector.getKey(), classes);
                    table.add(run.row());
                    run.check(all);
                }
            }
        }
        System.out.println(String.join("\n", table));
        all.assertAll();
        assertThat(table).as("rows of this JVM's collectors").hasSizeGreaterThan(2);
    }

    /** The test's classes are for this JVM, and the others may be older. */
    private Path compiledForOldJvms() throws Exception {
        Path testClasses = Path.of(CollectMain.class.getProtectionDomain().getCodeSource().getLocation().toURI());
        Path source = testClasses.resolve("../../src/test/java/" + CollectMain.class.getName().replace('.', '/') + ".java");
        Path classes = Files.createDirectory(directory.resolve("classes"));
        int failed = ToolProvider.getSystemJavaCompiler().run(null, null, null, "--release", "8", "-Xlint:-options", "-cp",
                PluginJar.classPath(CollectMain.class, List.of()), "-d", classes.toString(), source.toString());
        assertThat(failed).as("compiling " + source).isZero();
        return classes;
    }

    private static List<Path> jvms() throws IOException {
        List<Path> homes = new ArrayList<>(List.of(Path.of(System.getProperty("java.home")).toRealPath()));
        for (String named : System.getenv().getOrDefault("GC_JVMS", "").trim().split("\\s+")) {
            if (!named.isEmpty() && !homes.contains(Path.of(named).toRealPath())) {
                homes.add(Path.of(named).toRealPath());
            }
        }
        return homes;
    }

    private boolean has(Path home, List<String> flags) throws Exception {
        List<String> command = new ArrayList<>(List.of(home.resolve("bin/java").toString(),
                "-XX:+UnlockExperimentalVMOptions"));
        command.addAll(flags);
        command.add("-version");
        Path output = Files.createTempFile(directory, "version", ".txt");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
        return process.waitFor() == 0 && !Files.readString(output).contains("Ignoring option");
    }

    /** One JVM that collects garbage with one collector. */
    private final class Run {
        private static final String G1_CYCLES = "G1 Concurrent GC";

        private final String jvm;
        private final String collector;
        private final Map<String, long[]> pauses = new LinkedHashMap<>();
        private final PauseLog log;
        private final String jstatMs;
        private long timeMs;
        private long cyclesMs;

        Run(Path home, String collector, Path classes) throws Exception {
            this.collector = collector;
            jvm = Files.readAllLines(home.resolve("release")).stream().filter(line -> line.startsWith("JAVA_VERSION="))
                    .findFirst().orElseThrow().replaceAll("[^0-9.]", "");
            boolean keepsUp = collector.startsWith("ZGC") || collector.startsWith("Shenandoah");
            Path file = directory.resolve("gc.log");
            List<String> command = new ArrayList<>(List.of(home.resolve("bin/java").toString(), "-Xms320m", "-Xmx320m",
                    "-XX:+UnlockExperimentalVMOptions", "-Xlog:disable",
                    "-Xlog:gc,gc+phases:file=" + file + ":timemillis,uptimenanos,tags:filecount=0"));
            command.addAll(COLLECTORS.get(collector));
            command.addAll(List.of("-cp", classes + File.pathSeparator + PluginJar.classPath(CollectMain.class, List.of()),
                    CollectMain.class.getName(), keepsUp ? "16" : "96", ENOUGH_MS,
                    collector.equals("Epsilon") ? "0" : MOST_SECONDS));
            Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            try {
                read(process.inputReader());
                log = new PauseLog(Files.readAllLines(file), timeMs);
                jstatMs = jstat(home, process.pid());
            } finally {
                process.getOutputStream().close();
                if (!process.waitFor(60, TimeUnit.SECONDS)) {
                    process.destroyForcibly().waitFor();
                }
            }
            Files.delete(file);
        }

        private void read(BufferedReader printed) throws IOException {
            for (String line = printed.readLine(); !"end".equals(line); line = printed.readLine()) {
                assertThat(line).as("%s, %s: a line before its end", jvm, collector).isNotNull();
                String[] words = line.split(" ", 4);
                if (words[0].equals("time")) {
                    timeMs = Long.parseLong(words[1]);
                } else if (words[3].endsWith("Cycles")) {
                    cyclesMs += Long.parseLong(words[2]);
                } else {
                    pauses.put(words[3], new long[] {Long.parseLong(words[1]), Long.parseLong(words[2])});
                }
            }
        }

        /** The column GCT of jstat; "" where the JVM has none or is only a runtime. */
        private String jstat(Path home, long pid) throws Exception {
            Path program = home.resolve("bin/jstat");
            if (!Files.isExecutable(program)) {
                return "";
            }
            Process jstat = new ProcessBuilder(program.toString(), "-gc", Long.toString(pid)).start();
            List<String> lines = jstat.inputReader().lines().toList();
            if (jstat.waitFor() != 0) {
                return "";
            }
            List<String> names = Arrays.asList(lines.get(0).trim().split("\\s+"));
            String seconds = lines.get(1).trim().split("\\s+")[names.indexOf("GCT")];
            return seconds.equals("-") ? "" : Long.toString(Math.round(1000 * Double.parseDouble(seconds)));
        }

        private long oursMs() {
            return pauses.values().stream().mapToLong(each -> each[1]).sum();
        }

        void check(SoftAssertions all) {
            all.assertThat((double) oursMs()).as("%s, %s: ms of pauses", jvm, collector).isCloseTo(log.sumMs(),
                    Offset.offset(MOST_DIFFERENCE * log.sumMs() + RESOLUTION_MS * pauses.size()
                            + START_MS * log.pauses()));
            if (collector.equals("G1")) {
                all.assertThat(pauses).as("%s", jvm).containsKey(G1_CYCLES);
                all.assertThat(pauses.getOrDefault(G1_CYCLES, new long[1])[0]).as("%s: remark and cleanup pauses", jvm)
                        .isPositive().isEqualTo(log.ofG1Cycles());
            }
        }

        private String row() {
            return String.format(Locale.ROOT, "| %s | %s | %d | %.2f | %d | %s | %s | %d |", jvm, collector, log.pauses(),
                    log.sumMs(), oursMs(),
                    log.sumMs() == 0 ? "" : String.format(Locale.ROOT, "%+.2f%%", 100 * (oursMs() / log.sumMs() - 1)),
                    jstatMs, cyclesMs);
        }
    }
}
