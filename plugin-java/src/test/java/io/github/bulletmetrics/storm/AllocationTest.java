package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import io.github.bulletmetrics.storm.collector.GrpcCollector;
import io.github.bulletmetrics.storm.collector.TestTopology;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.sampler.PackBuilder;
import io.grpc.InsecureServerCredentials;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;
import org.apache.storm.metric.api.IMetricsConsumer.TaskInfo;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What {@code handleDataPoints} allocates once it knows the series: the same for few numbers and for many. A call, a
 * map and a pack have their iterators and the like; a map's key that is no String costs its text, a latency
 * distribution its encoded form.
 */
class AllocationTest {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final int FEW = 10;
    private static final int MANY = 100;
    private static final int CALLS = 50;
    /** A call's own, at most: two iterators and a report's. */
    private static final long MOST_BYTES_A_CALL = 256;

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

    @Test
    void aScalarAllocatesNothing() {
        prepare(Settings.DEFAULT_QUEUE_CAPACITY);
        assertNothingANumber(numbers -> {
            List<DataPoint> points = new ArrayList<>();
            for (int i = 0; i < numbers; i++) {
                points.add(new DataPoint("__execute-count-DataSource:stream-" + i, i % 2 == 0 ? (Object) (double) i
                        : (Object) (long) i));
            }
            return points;
        });
    }

    @Test
    void aNumberInAMapAllocatesNothing() {
        prepare(Settings.DEFAULT_QUEUE_CAPACITY);
        assertNothingANumber(numbers -> List.of(new DataPoint("__execute-count", map(numbers))));
    }

    @Test
    void aNumberInAMapOfAMapAllocatesNothing() {
        prepare(Settings.DEFAULT_QUEUE_CAPACITY);
        assertNothingANumber(
                numbers -> List.of(new DataPoint("__recv-iconnection",
                new LinkedHashMap<>(Map.of("enqueued", map(numbers))))));
    }

    @Test
    void aSampleInAPackAllocatesNothing() {
        prepare(Settings.DEFAULT_QUEUE_CAPACITY);
        assertNothingANumber(numbers -> List.of(new DataPoint("bullet-metrics.sampler", pack(numbers))));
    }

    @Test
    void aNumberThatFindsTheQueueFullAllocatesNothing() {
        collector.follow(new GrpcCollector.Script() {
            @Override
            public boolean open(Open open, StreamObserver<ExportResponse> answers) {
                return false;
            }
        });
        prepare(1_000);
        report(10_000, numbers -> List.of(new DataPoint("__execute-count", map(FEW))));
        assertNothingANumber(numbers -> List.of(new DataPoint("__execute-count", map(numbers))));
    }

    private void prepare(int queueCapacity) {
        consumer.prepare(TestTopology.conf(), Map.of(Settings.ADDRESS, collector.address(), Settings.QUEUE_CAPACITY,
                queueCapacity), TestTopology.context(), null);
    }

    private static Map<String, Object> map(int numbers) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < numbers; i++) {
            map.put("DataSource:stream-" + i, (long) i);
        }
        return map;
    }

    private static byte[] pack(int samples) {
        PackBuilder pack = new PackBuilder(1_234, 1_600_000_000_000L, "G1 Young Generation");
        for (int i = 0; i < samples; i++) {
            pack.sample(1_700_000_000_000L + i * 1_000, i, i, i, i, i, i, i);
        }
        return pack.build();
    }

    private void assertNothingANumber(IntFunction<List<DataPoint>> report) {
        report(2 * CALLS, report);
        long few = allocated(report.apply(FEW));
        long many = allocated(report.apply(MANY));
        assertThat(many).as("bytes a call with %d numbers, as with %d", MANY, FEW).isEqualTo(few)
                .isLessThanOrEqualTo(MOST_BYTES_A_CALL);
    }

    /** Makes all series known. */
    private void report(int calls, IntFunction<List<DataPoint>> report) {
        List<DataPoint> all = report.apply(MANY);
        for (int i = 0; i < calls; i++) {
            consumer.handleDataPoints(task(), all);
        }
    }

    /** Bytes a call, of the least of several rounds: what another of the JVM's doings adds once is not the call's. */
    private long allocated(List<DataPoint> report) {
        TaskInfo task = task();
        long least = Long.MAX_VALUE;
        for (int round = 0; round < 5; round++) {
            long before = THREADS.getCurrentThreadAllocatedBytes();
            for (int i = 0; i < CALLS; i++) {
                consumer.handleDataPoints(task, report);
            }
            least = Math.min(least, THREADS.getCurrentThreadAllocatedBytes() - before);
        }
        return least / CALLS;
    }

    private static TaskInfo task() {
        return new TaskInfo("worker-1", 6700, "FilterBolt", 3, 1_700_000_000L, 10);
    }
}
