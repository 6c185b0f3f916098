package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.bulletmetrics.storm.collector.GrpcCollector;
import io.github.bulletmetrics.storm.collector.TestTopology;
import io.github.bulletmetrics.storm.hostile.HostileCollector;
import io.grpc.InsecureServerCredentials;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;
import org.apache.storm.metric.api.IMetricsConsumer.TaskInfo;
import org.junit.jupiter.api.Test;

/** Storm calls {@code cleanup} from another thread than {@code handleDataPoints}, and before it stops that one. */
class ShutdownTest {
    private static final int CLOSINGS = 200;
    private static final long SEED = 20_261_121;
    /** The sender's own bound is 5.5 s; the rest is for a machine that is busy. */
    private static final Duration BOUND = Duration.ofSeconds(30);

    private final ConcurrentLinkedQueue<Throwable> thrown = new ConcurrentLinkedQueue<>();

    @Test
    void cleanupMayOverlapACallAtAnyMoment() throws Exception {
        Random random = new Random(SEED);
        try (GrpcCollector collector = new GrpcCollector(0, InsecureServerCredentials.create())) {
            for (int closing = 0; closing < CLOSINGS; closing++) {
                overlap(collector.address(), random.nextInt(200));
            }
            assertThat(collector.ledger().samples()).as("what was queued before cleanup came out").isNotEmpty();
        }
        assertThat(thrown).as("seed %d", SEED).isEmpty();
        await().atMost(BOUND).untilAsserted(() -> assertThat(threadsOfThePlugin()).isEmpty());
    }

    private void overlap(String address, int callsBefore) throws Exception {
        StormMetricsConsumer consumer = prepared(address);
        AtomicLong calls = new AtomicLong();
        CyclicBarrier together = new CyclicBarrier(2);
        Thread storm = new Thread(() -> caught(() -> {
            for (int call = 0; call < 2 * callsBefore + 20; call++) {
                if (call == callsBefore) {
                    together.await();
                }
                report(consumer, call);
                calls.incrementAndGet();
            }
        }));
        storm.start();
        together.await();
        Thread cleaning = new Thread(() -> caught(consumer::cleanup));
        cleaning.start();
        cleaning.join(BOUND.toMillis());
        storm.join(BOUND.toMillis());
        assertThat(cleaning.isAlive() || storm.isAlive()).as("a call or cleanup that hangs").isFalse();
        assertThat(calls).hasValue(2L * callsBefore + 20);
        caught(consumer::cleanup);
    }

    /** All at once, since each takes its 5 s. */
    @Test
    void cleanupIsBoundedAndCleanWhateverTheCollectorDoes() throws Exception {
        List<HostileCollector> collectors = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        try {
            StormMetricsConsumer toNobody = prepared("127.0.0.1:1");
            report(toNobody, 0);
            threads.add(started(() -> report(toNobody, 1)));
            threads.add(started(toNobody::cleanup));
            for (HostileCollector.Kind kind : HostileCollector.Kind.values()) {
                HostileCollector collector = HostileCollector.start(kind, 0, 1_000);
                collectors.add(collector);
                StormMetricsConsumer consumer = prepared("127.0.0.1:" + collector.port());
                report(consumer, 0);
                await().atMost(BOUND).until(() -> collector.met() > 0);
                threads.add(started(() -> report(consumer, 1)));
                threads.add(started(consumer::cleanup));
            }
            for (Thread thread : threads) {
                thread.join(BOUND.toMillis());
                assertThat(thread.isAlive()).isFalse();
            }
        } finally {
            collectors.forEach(HostileCollector::close);
        }
        assertThat(thrown).isEmpty();
        await().atMost(BOUND).untilAsserted(() -> assertThat(threadsOfThePlugin()).isEmpty());
    }

    private Thread started(Work work) {
        Thread thread = new Thread(() -> caught(work));
        thread.start();
        return thread;
    }

    private interface Work {
        void run() throws Exception;
    }

    private void caught(Work work) {
        try {
            work.run();
        } catch (Throwable escaped) {
            thrown.add(escaped);
        }
    }

    private static StormMetricsConsumer prepared(String address) throws IOException {
        StormMetricsConsumer consumer = new StormMetricsConsumer();
        consumer.prepare(TestTopology.conf(), Map.of(Settings.ADDRESS, address, Settings.QUEUE_CAPACITY, 10_000),
                TestTopology.context(), null);
        return consumer;
    }

    private static void report(StormMetricsConsumer to, int value) {
        to.handleDataPoints(new TaskInfo("worker-1", 6700, "FilterBolt", 3, 1_700_000_000L, 10),
                List.of(new DataPoint("x", value), new DataPoint("y", value)));
    }

    /** The sender's, and those of gRPC's connections; gRPC's own shared ones end a second after their last use. */
    private static List<String> threadsOfThePlugin() {
        return Thread.getAllStackTraces().keySet().stream().map(Thread::getName)
                .filter(name -> name.startsWith("bullet-metrics") || name.startsWith("grpc-")
                || name.startsWith("OkHttp")).toList();
    }
}
