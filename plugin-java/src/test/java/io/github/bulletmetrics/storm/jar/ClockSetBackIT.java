package io.github.bulletmetrics.storm.jar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The real sampler in a JVM whose clock is set back while it runs, and the real collector: its totals are what the
 * process used, and never more. Skipped where build/bullet-metrics has not been built.
 */
@Tag("slow")
class ClockSetBackIT {
    private static final Pattern USED =
            Pattern.compile("cpu=([0-9.]+?)\\.\\.(\\S+) collections=(\\S+) executed=(\\d+)\\.\\.(\\d+) off=(\\S+)");

    @TempDir
    Path directory;

    @BeforeEach
    void needsTheCollector() {
        assumeTrue(RealCollector.binary() != null, "no collector at " + System.getProperty("bullet.metrics.binary")
                + ": run make build");
    }

    /**
     * Back by 20 s, until the worker has passed the newest time that it had shown, and back by 300 s more, and forth
     * again. What Storm counts for an interval of a time that came twice is refused.
     */
    @Test
    void theTotalsAreWhatTheProcessUsed() throws Exception {
        Path clock = Files.writeString(directory.resolve("clock"), "+0");
        try (RealCollector collector = new RealCollector(directory)) {
            String printed = PluginJar.run(ClockMain.class,
                    Map.of("LD_PRELOAD", libfaketime().toString(), "FAKETIME_TIMESTAMP_FILE", clock.toString(),
                    "FAKETIME_CACHE_DURATION", "1", "FAKETIME_DONT_FAKE_MONOTONIC", "1", "DONT_FAKE_MONOTONIC", "1"),
                    "127.0.0.1:" + collector.port(), clock.toString(), "10=-20", "35=-320", "42=-20", "52=-20");
            Matcher said = USED.matcher(printed);
            assertThat(said.find()).as(printed).isTrue();
            assertThat(said.group(6)).as("how far the clock was off in the end, s").isEqualTo("-20");
            double cpuBefore = Double.parseDouble(said.group(1)); // the last samples
            double cpu = Double.parseDouble(said.group(2));
            double collections = Double.parseDouble(said.group(3));
            double least = Double.parseDouble(said.group(4));
            double most = Double.parseDouble(said.group(5));
            await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofSeconds(1)).untilAsserted(() -> {
                assertThat(collector.sum("bullet_worker_cpu_seconds_total")).isBetween(cpuBefore, cpu);
                assertThat(collector.sum("bullet_worker_gc_collections_total")).isEqualTo(collections);
                assertThat(collector.sum("storm_executed_total")).isBetween(least, most);
            });
            assertThat(collector.sum("bullet_worker_restarts_total")).isZero();
            assertThat(collector.figure("bullet_metrics_worker_clock_set_back_seconds"
                    + "{store=\"embedded\",topology=\"bullet\",worker=\"worker-1:6700\"}")).isBetween(297.0, 300.0);
        }
    }

    private static Path libfaketime() throws Exception {
        Path server = RealCollector.binary().resolveSibling("../.ci/server").toRealPath();
        Process unpack = new ProcessBuilder(server.toString(), "libfaketime")
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String unpacked = new String(unpack.getInputStream().readAllBytes()).trim();
        assertThat(unpack.waitFor()).as("exit code of .ci/server libfaketime").isZero();
        try (var files = Files.walk(Path.of(unpacked))) {
            return files.filter(file -> file.endsWith("libfaketimeMT.so.1")).findFirst().orElseThrow();
        }
    }
}
