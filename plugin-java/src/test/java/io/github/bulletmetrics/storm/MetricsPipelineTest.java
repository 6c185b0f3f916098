package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.bulletmetrics.storm.collector.GrpcCollector;
import io.github.bulletmetrics.storm.collector.Ledger;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.github.bulletmetrics.storm.sampler.PackBuilder;
import io.grpc.InsecureServerCredentials;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;
import org.apache.storm.metric.api.IMetricsConsumer.TaskInfo;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Live reports of SystemBolt, against a real gRPC server. */
class MetricsPipelineTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);
    private static final String LIVE = "bullet-metrics.sampler.live";

    private GrpcCollector collector;
    private MetricsPipeline pipeline;

    @BeforeEach
    void start() throws IOException {
        collector = new GrpcCollector(0, InsecureServerCredentials.create());
    }

    @AfterEach
    void stop() {
        pipeline.close();
        collector.close();
    }

    @Test
    void whatStorm22RepeatsInALiveReportIsLeftOut() {
        pipeline("2.2.0");
        live(1_900, 1);
        live(3_900, 0);
        assertThat(ofTheSystem()).as("the event is in no other report")
                .containsExactly(new Ledger.Sample("worker-1", 6700, "__system", -1, "newWorkerEvent", List.of(), 2_000,
                1));
        assertThat(collector.ledger().breaches()).isEmpty();
    }

    @Test
    void otherStormsRepeatNothing() {
        pipeline("2.8.3");
        live(1_900, 1);
        live(3_900, 0);
        assertThat(ofTheSystem()).extracting(Ledger.Sample::name).containsExactly("newWorkerEvent", "memory.heap.used",
                "newWorkerEvent", "memory.heap.used");
    }

    @Test
    void liveSamplesDoNotWaitForCompany() throws InterruptedException {
        pipeline("2.8.3");
        List<Long> tookMs = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            long before = System.nanoTime();
            live(1_900 + 2_000 * i, 0);
            tookMs.add((System.nanoTime() - before) / 1_000_000);
            Thread.sleep(130);
        }
        Collections.sort(tookMs);
        assertThat(tookMs.get(tookMs.size() / 2)).as("a sample of another report waits for a second").isLessThan(250);
    }

    private void pipeline(String storm) {
        pipeline = new MetricsPipeline(Settings.from(Map.of(Settings.ADDRESS, collector.address())::get),
                Open.newBuilder().setTopology("bullet").setHost("consumer-host").setPort(6700).setTask(9).build(),
                TopologyInfo.newBuilder().setName("bullet").setStormVersion(storm)
                        .putSettings("topology.builtin.metrics.bucket.size.secs", "10").build());
    }

    /** Hands over a live report with one sample, as Storm 2.2 does, and waits for its arrival. */
    private void live(long timeMs, int newWorkerEvent) {
        byte[] pack = new PackBuilder(77, 500).sample(timeMs, 1, 2, 3, 4, 5).build();
        pipeline.handle(new TaskInfo("worker-1", 6700, "__system", -1, (timeMs + 999) / 1_000, 2), List.of(
                new DataPoint(LIVE, pack), new DataPoint("newWorkerEvent", newWorkerEvent),
                new DataPoint("memory.heap.used", 5L)));
        await().atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(() -> collector.ledger().samples().stream()
                .anyMatch(sample -> sample.name().equals("cpu.user_ms") && sample.timeMs() == timeMs));
    }

    private List<Ledger.Sample> ofTheSystem() {
        return collector.ledger().samples().stream()
                .filter(sample -> sample.name().equals("newWorkerEvent") || sample.name().startsWith("memory."))
                .toList();
    }
}
