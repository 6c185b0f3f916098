package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.bulletmetrics.storm.collector.GrpcCollector;
import io.github.bulletmetrics.storm.collector.Ledger;
import io.github.bulletmetrics.storm.collector.TestTopology;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.ComponentInfo;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.grpc.InsecureServerCredentials;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;
import org.apache.storm.metric.api.IMetricsConsumer.TaskInfo;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The whole consumer against a real gRPC server. */
class StormMetricsConsumerTest {
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final StormMetricsConsumer consumer = new StormMetricsConsumer();
    private GrpcCollector collector;

    @BeforeEach
    void start() throws IOException {
        collector = new GrpcCollector(0, InsecureServerCredentials.create());
    }

    @AfterEach
    void stop() {
        consumer.cleanup();
        collector.close();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatStormReportsReachesTheCollector(boolean takesBlocks) {
        collector.takesBlocks(takesBlocks);
        prepare(collector.address());
        consumer.handleDataPoints(task("FilterBolt", 3), List.of(new DataPoint("bullet_filter_latency", 1.5),
                new DataPoint("__execute-count", Map.of("DataSource:default", 20L))));
        consumer.handleDataPoints(task("__system", -1),
                List.of(new DataPoint("bullet-metrics.sampler", new WorkerSampler().getValueAndReset())));
        boolean hasHost = Files.exists(Path.of("/proc/stat"));
        String last = hasHost ? "host.cpu_cores" : "gc.time_ms";
        await().atMost(PATIENCE)
                .until(() -> collector.ledger().samples().stream().anyMatch(sample -> sample.name().equals(last)));

        assertThat(collector.ledger().breaches()).isEmpty();
        assertThat(collector.ledger().blocks()).as("one of the report, one of the pack, one of its host")
                .hasSize(!takesBlocks ? 0 : hasHost ? 3 : 2);
        assertThat(collector.ledger().samples()).contains(
                new Ledger.Sample("worker-1", 6700, "FilterBolt", 3, "bullet_filter_latency", List.of(),
                1_700_000_000_000L, 1.5),
                new Ledger.Sample("worker-1", 6700, "FilterBolt", 3, "__execute-count", List.of("DataSource:default"),
                1_700_000_000_000L, 20));
        assertThat(collector.ledger().samples()).extracting(Ledger.Sample::name)
                .contains("cpu.user_ms", "cpu.system_ms", "heap.used_bytes",
                "heap.committed_bytes", "heap.limit_bytes", "process.start_time_ms", "gc.count", "gc.time_ms");
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(collector.ledger().workers()).containsOnlyKeys("worker-1:6700")
                .allSatisfy((name, worker) -> {
                    assertThat(worker.getPid()).isEqualTo(ProcessHandle.current().pid());
                    assertThat(worker.getTasksList()).containsExactly(3);
                }));
    }

    @Test
    void theCollectorReceivesWhatTheTopologyIsAndNoSecret() {
        Map<String, Object> conf = TestTopology.conf();
        conf.put("topology.workers", 2);
        conf.put("some.password", "s3cret");
        consumer.prepare(conf, Map.of(Settings.ADDRESS, collector.address()), TestTopology.context(), null);
        consumer.handleDataPoints(task("FilterBolt", 3), List.of());
        await().atMost(PATIENCE).until(() -> !collector.ledger().topologies().isEmpty());
        TopologyInfo topology = collector.ledger().topologies().get(0);
        assertThat(topology.getName()).isEqualTo("bullet");
        assertThat(topology.getId()).isEqualTo("bullet-1-1700000000");
        assertThat(topology.getStormVersion()).isEqualTo("1.0.3");
        assertThat(topology.getBulletVersion()).isEqualTo("core-1.5.2");
        assertThat(topology.getJavaVersion()).isEqualTo(System.getProperty("java.version"));
        assertThat(topology.getPluginVersion()).isNotEmpty().doesNotContain("$");
        assertThat(topology.getSettingsMap()).containsEntry("topology.workers", "2").doesNotContainKey("some.password");
        assertThat(topology.toString()).doesNotContain("s3cret");
        assertThat(topology.getComponentsList()).extracting(ComponentInfo::getName)
                .contains("FilterBolt", "DataSource");
        ComponentInfo filter = topology.getComponentsList().stream()
                .filter(component -> component.getName().equals("FilterBolt")).findFirst().orElseThrow();
        assertThat(filter.getTasksList()).containsExactly(3, 4, 5, 6);
        assertThat(filter.getParallelism()).isEqualTo(2);
        assertThat(filter.getCpuPercent()).isEqualTo(150.5);
        assertThat(filter.getOnHeapMib()).isEqualTo(512);
        assertThat(filter.getOffHeapMib()).isEqualTo(64);
        Open open = collector.opens().get(0);
        assertThat(open.getTopology()).isEqualTo("bullet");
        assertThat(open.getTopologyId()).isEqualTo("bullet-1-1700000000");
        assertThat(open.getPort()).isEqualTo(6700);
        assertThat(open.getTask()).isEqualTo(9);
    }

    @Test
    void settingsMayComeFromTheTopologysConfiguration() {
        Map<String, Object> conf = TestTopology.conf();
        conf.put(Settings.ADDRESS, collector.address());
        consumer.prepare(conf, null, TestTopology.context(), null);
        consumer.handleDataPoints(task("FilterBolt", 3), List.of(new DataPoint("x", 1)));
        await().atMost(PATIENCE).until(() -> collector.ledger().samples().size() == 1);
    }

    @Test
    void wrongSettingsHarmNobody() {
        consumer.prepare(TestTopology.conf(), Map.of(Settings.ADDRESS, "http://x"), TestTopology.context(), null);
        consumer.handleDataPoints(task("FilterBolt", 3), List.of(new DataPoint("x", 1)));
        consumer.cleanup();
        assertThat(collector.opens()).isEmpty();
    }

    @Test
    void nothingThatStormHandsOverMakesItThrow() {
        prepare(collector.address());
        consumer.handleDataPoints(null, List.of());
        consumer.handleDataPoints(task("FilterBolt", 3), null);
        consumer.handleDataPoints(new TaskInfo(null, 0, null, 0, 0, 0),
                Arrays.asList(null, new DataPoint(null, 1), new DataPoint("x", null)));
        consumer.handleDataPoints(task("FilterBolt", 3), List.of(new DataPoint("bad", new HashMap<String, Object>() {
            @Override
            public java.util.Set<Entry<String, Object>> entrySet() {
                throw new AssertionError("an Error even");
            }
        }), new DataPoint("lost with it", 2)));
        consumer.handleDataPoints(task("FilterBolt", 3), List.of(new DataPoint("good", 1)));
        await().atMost(PATIENCE)
                .until(() -> collector.ledger().samples().stream().anyMatch(sample -> sample.name().equals("good")));
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(collector.ledger().drops()).containsKey(
                DropReason.DROP_REASON_INTERNAL));
    }

    @Test
    void aCollectorThatRefusesAndBreaksMissesNothing() {
        AtomicInteger calls = new AtomicInteger();
        AtomicLong refused = new AtomicLong();
        collector.follow(new GrpcCollector.Script() {
            @Override
            public boolean take(Batch batch, StreamObserver<ExportResponse> answers) {
                boolean olderIsRefused = batch.getSequence() > refused.get()
                        && batch.getOldestHeldSequence() <= refused.get();
                switch (olderIsRefused ? 1 : calls.getAndIncrement() % 6) {
                    case 1:
                        refused.set(olderIsRefused ? refused.get() : batch.getSequence());
                        answers.onNext(GrpcCollector.full(batch, 100));
                        return false;
                    case 3:
                        answers.onError(Status.UNAVAILABLE.withDescription("killed").asRuntimeException());
                        return false;
                    default:
                        return true;
                }
            }
        });
        prepare(collector.address());
        int ticks = 30;
        for (int tick = 0; tick < ticks; tick++) {
            List<DataPoint> dataPoints = new ArrayList<>();
            for (int i = 0; i < 1_000; i++) {
                dataPoints.add(new DataPoint("metric" + i, tick * 1_000 + i));
            }
            consumer.handleDataPoints(task("FilterBolt", 3), dataPoints);
        }
        await().atMost(Duration.ofSeconds(60)).until(() -> collector.ledger().samples().size() >= ticks * 1_000);
        assertThat(collector.ledger().samples()).extracting(Ledger.Sample::value).doesNotHaveDuplicates()
                .hasSize(ticks * 1_000);
        assertThat(collector.ledger().breaches()).isEmpty();
        assertThat(collector.opens()).hasSizeGreaterThan(1);
    }

    @Test
    void aCollectorThatComesBackGetsEverythingWithinTenSeconds() throws IOException {
        int port = collector.port();
        prepare("127.0.0.1:" + port);
        consumer.handleDataPoints(task("FilterBolt", 3), List.of(new DataPoint("x", 1)));
        await().atMost(PATIENCE).until(() -> collector.ledger().samples().size() == 1);
        collector.close();
        consumer.handleDataPoints(task("FilterBolt", 3), List.of(new DataPoint("x", 2)));
        await().pollDelay(Duration.ofSeconds(3)).until(() -> true);
        collector = new GrpcCollector(port, InsecureServerCredentials.create());
        await().atMost(Duration.ofSeconds(10)).until(() -> collector.ledger().samples().size() == 1);
        assertThat(collector.ledger().samples()).extracting(Ledger.Sample::value).containsExactly(2.0);
    }

    @Test
    void theSecondAddressIsTakenWhenTheFirstIsDead() throws IOException {
        int dead;
        try (ServerSocket socket = new ServerSocket(0)) {
            dead = socket.getLocalPort();
        }
        prepare("127.0.0.1:" + dead + "," + collector.address());
        consumer.handleDataPoints(task("FilterBolt", 3), List.of(new DataPoint("x", 1)));
        await().atMost(PATIENCE).until(() -> collector.ledger().samples().size() == 1);
    }

    @Test
    void whatDoesNotFitTheQueueIsCountedAndReported() {
        AtomicBoolean hanging = new AtomicBoolean(true);
        collector.follow(new GrpcCollector.Script() {
            @Override
            public boolean open(Open open, StreamObserver<ExportResponse> answers) {
                return !hanging.get();
            }
        });
        consumer.prepare(TestTopology.conf(), Map.of(Settings.ADDRESS, collector.address(), Settings.QUEUE_CAPACITY,
                1_000), TestTopology.context(), null);
        for (int i = 0; i < 1_500; i++) {
            consumer.handleDataPoints(task("FilterBolt", 3), List.of(new DataPoint("x", i)));
        }
        hanging.set(false);
        await().atMost(PATIENCE).until(() -> collector.ledger().drops().containsKey(DropReason.DROP_REASON_QUEUE_FULL));
        assertThat(collector.ledger().samples()).hasSize(1_000);
        assertThat(collector.ledger().drops()).containsEntry(DropReason.DROP_REASON_QUEUE_FULL, 500L);
        assertThat(collector.ledger().gaps()).singleElement()
                .satisfies(gap -> assertThat(gap.getStartTimeMs()).isEqualTo(1_700_000_000_000L));
    }

    @Test
    void cleanupBringsOutWhatIsQueued() {
        prepare(collector.address());
        consumer.handleDataPoints(task("FilterBolt", 3), List.of(new DataPoint("x", 1)));
        consumer.cleanup();
        assertThat(collector.ledger().samples()).hasSize(1);
        consumer.cleanup();
    }

    @Test
    void cleanupTakesBoundedTimeWhenTheCollectorHangsAndMayOverlapACall() throws Exception {
        collector.follow(new GrpcCollector.Script() {
            @Override
            public boolean take(Batch batch, StreamObserver<ExportResponse> answers) {
                return false;
            }
        });
        prepare(collector.address());
        CountDownLatch calling = new CountDownLatch(1);
        AtomicBoolean stop = new AtomicBoolean();
        Thread caller = new Thread(() -> {
            while (!stop.get()) {
                consumer.handleDataPoints(task("FilterBolt", 3), List.of(new DataPoint("x", 1)));
                calling.countDown();
            }
        });
        caller.start();
        assertThat(calling.await(20, TimeUnit.SECONDS)).isTrue();
        long before = System.nanoTime();
        Thread second = new Thread(consumer::cleanup);
        second.start();
        consumer.cleanup();
        assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(8));
        stop.set(true);
        caller.join(10_000);
        second.join(10_000);
        assertThat(caller.isAlive() || second.isAlive()).isFalse();
    }

    private void prepare(String address) {
        consumer.prepare(TestTopology.conf(), Map.of(Settings.ADDRESS, address), TestTopology.context(), null);
    }

    private static TaskInfo task(String component, int task) {
        return new TaskInfo("worker-1", 6700, component, task, 1_700_000_000L, 10);
    }
}
