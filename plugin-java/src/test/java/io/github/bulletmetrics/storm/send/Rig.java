package io.github.bulletmetrics.storm.send;

import com.google.protobuf.ByteString;
import io.github.bulletmetrics.storm.proto.v1.HistogramSample;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.Shape;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.github.bulletmetrics.storm.queue.Block;
import io.github.bulletmetrics.storm.queue.Layout;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.Queued;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Series;
import io.github.bulletmetrics.storm.queue.Source;
import io.github.bulletmetrics.storm.queue.Workers;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** An exporter with everything around it in the test's hand. */
final class Rig {
    static final TopologyInfo TOPOLOGY = TopologyInfo.newBuilder().setName("bullet").build();

    final ManualTime time = new ManualTime();
    final FakeTransport transport = new FakeTransport();
    final Losses losses = new Losses();
    final Workers workers = new Workers();
    final ExportOptions options = new ExportOptions();
    final SampleQueue queue;
    final Outbox outbox;
    final Exporter exporter;
    private final List<Series> series = new ArrayList<>();
    private final Source source = new Source("host", 6700, "FilterBolt", 1, 10_000);
    private final Layout latencies = new Layout(0, new Series(1_000, source, "latency", List.of(),
            Shape.SHAPE_HISTOGRAM));
    private final Map<List<Integer>, Layout> layouts = new HashMap<>();
    private final Block block = new Block();

    Rig(int capacity, int batchSamples, String... addresses) {
        options.batchSamples = batchSamples;
        // Tests of the slow start set it back.
        options.firstWindow = options.maxWindow;
        queue = new SampleQueue(capacity);
        outbox = new Outbox("0123456789abcdef".getBytes(), queue, losses, workers, TOPOLOGY, options);
        List<Address> parsed = new ArrayList<>();
        for (String address : addresses.length == 0 ? new String[] {"a:1"} : addresses) {
            parsed.add(Address.parse(address));
        }
        exporter = new Exporter(outbox, transport, parsed, Open.newBuilder().setTopology("bullet").build(), options,
                time, new Random(1), () -> { });
    }

    /** The series of a number, the same for the same number. */
    Series series(int number) {
        while (series.size() <= number) {
            series.add(new Series(series.size() + 1, source, "metric" + series.size(), List.of(), Shape.SHAPE_NUMBER));
        }
        return series.get(number);
    }

    /** Queues a sample whose value distinguishes it from all others. */
    boolean offer(int ofSeries, double value) {
        boolean taken = Queued.offer(queue, series(ofSeries), time.wallMs(), value);
        queue.publish();
        return taken;
    }

    /** Queues a block of several series, whose values rise cell by cell; NaN stands for a cell without a sample. */
    boolean offerBlock(int firstSeries, int columns, int rows, double... values) {
        block.begin(layout(firstSeries, columns), time.wallMs(), rows == 1 ? 0 : 1_000, rows);
        for (double value : values) {
            if (Double.isNaN(value)) {
                block.skip();
            } else {
                block.add(value);
            }
        }
        boolean taken = queue.offer(block);
        queue.publish();
        return taken;
    }

    private Layout layout(int firstSeries, int columns) {
        Series[] all = new Series[columns];
        for (int column = 0; column < columns; column++) {
            all[column] = series(firstSeries + column);
        }
        return layouts.computeIfAbsent(List.of(firstSeries, columns), absent -> new Layout(10_000 + layouts.size(),
                all));
    }

    /** Queues a distribution whose count distinguishes it from all others. */
    boolean offerDistribution(long count) {
        return offerDistribution(HistogramSample.newBuilder().setSeriesId(latencies.series(0).id()).setCount(
                count).build().toByteString());
    }

    boolean offerDistribution(ByteString encoded) {
        boolean taken = queue.offer(latencies, time.wallMs(), encoded.toByteArray());
        queue.publish();
        return taken;
    }

    void offerMany(int samples) {
        for (int i = 0; i < samples; i++) {
            offer(i % 3, i);
        }
    }

    void pass(long ms) {
        time.nowMs += ms;
        exporter.step();
    }

    void close() {
        exporter.close(time.nowMs + options.closeTimeoutMs);
    }

    /** A stream that is open, without anything sent yet. */
    FakeTransport.FakeStream opened(int window) {
        exporter.step();
        transport.last().sayOpened(window);
        return transport.last();
    }

    /** The next stream that is begun, open. */
    FakeTransport.FakeStream nextOpened(int window) {
        int before = transport.streams.size();
        while (transport.streams.size() == before) {
            pass(10);
        }
        transport.last().sayOpened(window);
        return transport.last();
    }
}
