package io.github.bulletmetrics.storm.send;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.bulletmetrics.storm.collector.GrpcCollector;
import io.github.bulletmetrics.storm.collector.Ledger;
import io.github.bulletmetrics.storm.flatten.Flattener;
import io.github.bulletmetrics.storm.grpc.GrpcTransport;
import io.github.bulletmetrics.storm.grpc.Security;
import io.github.bulletmetrics.storm.hostile.HostileCollector;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Workers;
import io.grpc.InsecureServerCredentials;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Whatever a collector does: what fits the queue is delivered once a good one is there, once each, what does not is
 * counted under its reason and reported. Times are measured by bench/.
 */
class HostileCollectorsTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int CAPACITY = 1_000;
    private static final int REFUSED = 500;
    private static final int UNSUPPORTED = 3;

    private final SampleQueue queue = new SampleQueue(CAPACITY);
    private final Losses losses = new Losses();
    private final Workers workers = new Workers();
    private final Flattener flattener = new Flattener(queue, losses, workers, CAPACITY, failure -> { });

    @ParameterizedTest
    @EnumSource
    void onceItIsGoneNothingThatWasQueuedIsMissing(HostileCollector.Kind kind) throws IOException {
        HostileCollector hostile = HostileCollector.start(kind, 0, 20);
        try (Sender sender = sender(hostile.port())) {
            sender.start();
            report(sender);
            await().atMost(PATIENCE).until(() -> hostile.met() >= 3);
            hostile.close();
            assertArrivesAt(hostile.port());
        } finally {
            hostile.close();
        }
    }

    @Test
    void onceThereIsOneNothingThatWasQueuedIsMissing() throws IOException {
        int port;
        try (ServerSocket nobody = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            port = nobody.getLocalPort();
        }
        try (Sender sender = sender(port)) {
            sender.start();
            report(sender);
            assertArrivesAt(port);
        }
    }

    private Sender sender(int port) {
        ExportOptions hurried = new ExportOptions();
        hurried.batchSamples = 64;
        hurried.lingerMs = 10;
        hurried.openTimeoutMs = 500;
        hurried.longOpenTimeoutMs = 1_000;
        hurried.answerTimeoutMs = 500;
        hurried.minBackoffMs = 10;
        hurried.maxBackoffMs = 50;
        hurried.maxBrokenBackoffMs = 50;
        hurried.maxRetryAfterMs = 50;
        hurried.deniedPauseMs = 50;
        return new Sender(queue, losses, workers, TopologyInfo.getDefaultInstance(),
                Open.newBuilder().setTopology("bullet").build(),
                new GrpcTransport(Security.none()), List.of(Address.parse("127.0.0.1:" + port)), hurried);
    }

    /** More than the queue holds, and some that is no number. */
    private void report(Sender sender) {
        for (int value = 0; value < CAPACITY + REFUSED; value++) {
            flattener.begin("worker-1", 6700, "FilterBolt", 3, 1_700_000_000L, 10, 0);
            flattener.add("x", value);
            flattener.add("no number", value < UNSUPPORTED ? "text" : null);
            flattener.end();
            sender.wake();
        }
        assertThat(losses.total(DropReason.DROP_REASON_QUEUE_FULL)).isEqualTo(REFUSED);
    }

    private void assertArrivesAt(int port) {
        try (GrpcCollector good = collectorAt(port)) {
            Ledger ledger = good.ledger();
            await().atMost(PATIENCE).until(() -> ledger.samples().size() >= CAPACITY && ledger.drops().size() == 2);
            assertThat(ledger.samples()).extracting(sample -> (int) sample.value())
                    .containsExactlyInAnyOrderElementsOf(IntStream.range(0, CAPACITY).boxed().toList());
            assertThat(ledger.drops()).isEqualTo(Map.of(DropReason.DROP_REASON_QUEUE_FULL, (long) REFUSED,
                    DropReason.DROP_REASON_UNSUPPORTED_VALUE, (long) UNSUPPORTED));
            assertThat(ledger.gaps()).singleElement()
                    .satisfies(gap -> assertThat(gap.getReason()).isEqualTo(DropReason.DROP_REASON_QUEUE_FULL));
            assertThat(ledger.breaches()).isEmpty();
        }
    }

    private static GrpcCollector collectorAt(int port) {
        return await().atMost(PATIENCE).ignoreExceptions()
                .until(() -> new GrpcCollector(port, InsecureServerCredentials.create()), good -> true);
    }
}
