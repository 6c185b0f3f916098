package io.github.bulletmetrics.topology.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * The finished jar on Storm 2.2.0, the oldest that Bullet 1.3.2 was recorded on, in a process with that Storm alone.
 */
@Tag("slow")
class OldestStormIT {
    private static final Duration LONG = Duration.ofSeconds(120);
    private static final int STOP_LIMIT_SECS = 60;
    private static final String RECORDED = "capture-storm-2.2.0.jsonl";

    private static Path folder;
    private static Process process;

    @BeforeAll
    static void start() throws IOException {
        Path scratch = Files.createDirectories(Path.of(System.getProperty("scratch.folder")));
        folder = Files.createTempDirectory(scratch, "run-");
        // Our jar comes last, as in a worker: what both have is Storm's.
        String classPath = String.join(File.pathSeparator, System.getProperty("oldest.storm.lib") + "/*",
            System.getProperty("bullet.topology.jar"), System.getProperty("test.classes"));
        process = new ProcessBuilder(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-XX:+UseG1GC", "-Xmx1g", "-XX:TieredStopAtLevel=1", "-Dzookeeper.sasl.client=false",
            "-Djdk.net.hosts.file=" + hosts(folder),
            "-Dstorm.options=storm.metricstore.class=org.apache.storm.metricstore.NoOpMetricStore",
            "-Dlog4j.configurationFile=log4j2-quiet.xml", "-cp", classPath,
            BulletProcess.class.getName(), folder.toString()))
            .redirectErrorStream(true).redirectOutput(folder.resolve("output.log").toFile()).start();
    }

    /** Storm 2.2's ZooKeeper reads the name of an address that was not resolved as Java up to 13 printed it. */
    private static Path hosts(Path folder) throws IOException {
        String host = InetAddress.getLocalHost().getHostName();
        return Files.writeString(folder.resolve("hosts"),
            "127.0.0.1 localhost\n127.0.0.1 localhost/<unresolved>\n127.0.0.1 " + host + "\n");
    }

    /** Everything must go well to the end, a clean stop included; else the log is shown, and kept with the capture. */
    @AfterAll
    static void stop() throws Exception {
        process.getOutputStream().close();
        if (!process.waitFor(STOP_LIMIT_SECS, TimeUnit.SECONDS)) {
            process.destroyForcibly();
        }
        assertThat(process.waitFor()).as(log()).isZero();
        for (String file : List.of("hosts", "capture.jsonl", "output.log", "")) {
            Files.delete(folder.resolve(file));
        }
    }

    private static String log() {
        try {
            List<String> lines = Files.readAllLines(folder.resolve("output.log"));
            return String.join("\n", lines.subList(Math.max(0, lines.size() - 60), lines.size()));
        } catch (IOException e) {
            return e.toString();
        }
    }

    private static Capture capture() {
        assertThat(process.isAlive()).as(() -> "The process has ended:\n" + log()).isTrue();
        return Capture.soFar(folder.resolve("capture.jsonl"));
    }

    @Test
    void bulletsMetricsAreThoseOfTheRecordedCapture() {
        Set<String> recorded = CaptureComparison.bulletMetrics(CaptureComparison.recorded(RECORDED));
        assertThat(recorded).hasSize(7);

        await("every bullet_* metric").atMost(LONG)
            .untilAsserted(() -> assertThat(CaptureComparison.bulletMetrics(capture())).as(
            OldestStormIT::log).isEqualTo(recorded));
    }

    @Test
    void everyOtherMetricIsInTheRecordedCapture() {
        Set<String> recorded = CaptureComparison.otherMetrics(CaptureComparison.recorded(RECORDED));
        await("the metrics of the worker and of Storm's bolts").atMost(LONG).untilAsserted(
            () -> assertThat(CaptureComparison.otherMetrics(capture()))
            .contains("memory.heap.used", "__execute-latency"));

        assertThat(recorded).containsAll(CaptureComparison.otherMetrics(capture()));
    }

    @Test
    void everyStreamThatAQueryUsesHasItsCounts() {
        await("the streams of queries").atMost(LONG)
                .untilAsserted(() -> assertThat(CaptureComparison.streamCounts(capture()))
            .containsKeys(CaptureComparison.COUNTED_WITH_QUERIES.toArray(String[]::new)));

        assertThat(CaptureComparison.bulletStreams(capture()))
            .containsAll(CaptureComparison.bulletStreams(CaptureComparison.recorded(RECORDED)));
    }
}
