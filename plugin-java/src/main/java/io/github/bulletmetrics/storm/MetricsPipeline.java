package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.flatten.Flattener;
import io.github.bulletmetrics.storm.grpc.GrpcTransport;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import io.github.bulletmetrics.storm.queue.Losses;
import io.github.bulletmetrics.storm.queue.SampleQueue;
import io.github.bulletmetrics.storm.queue.Workers;
import io.github.bulletmetrics.storm.send.Sender;
import java.util.Collection;
import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;
import org.apache.storm.metric.api.IMetricsConsumer.TaskInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Joins the parts of the consumer: flattener, queue and sender. It is separate from {@link StormMetricsConsumer} so
 * that everything after the settings can be tested without a topology.
 *
 * <p>Storm calls {@link #handle} from one thread; the lock only makes a second caller wait instead of corrupting the
 * flattener. {@link #close} takes no lock, so it may overlap a running {@link #handle}, and it may be called more than
 * once. The sender's thread starts with the first data points, so a consumer that is never used has no thread before it
 * is closed.
 */
final class MetricsPipeline implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MetricsPipeline.class);

    private final Losses losses = new Losses();
    private final Flattener flattener;
    private final Sender sender;
    private boolean started;
    private boolean failed;
    private volatile boolean closed;

    MetricsPipeline(Settings settings, Open open, TopologyInfo topology) {
        SampleQueue queue = new SampleQueue(settings.queueCapacity());
        Workers workers = new Workers();
        // Storm hands a consumer nothing about itself: where this one runs is known all the same.
        workers.report(workers.worker(open.getHost(), open.getPort()), open.getTask(), System.currentTimeMillis());
        flattener = new Flattener(queue, losses, workers, settings.seriesLimit(), this::failed);
        sender = new Sender(queue, losses, workers, topology, open, new GrpcTransport(settings.security()),
                settings.addresses(open.getTopology()));
    }

    /** Queues what a task reported. Never waits for the network, never throws. */
    synchronized void handle(TaskInfo task, Collection<DataPoint> dataPoints) {
        if (closed || task == null || dataPoints == null) {
            return;
        }
        boolean live = false;
        try {
            start();
            flattener.begin(task.srcWorkerHost, task.srcWorkerPort, task.srcComponentId, task.srcTaskId, task.timestamp,
                    task.updateIntervalSecs, System.nanoTime() / 1_000_000);
            for (DataPoint dataPoint : dataPoints) {
                if (dataPoint != null) {
                    flattener.add(dataPoint.name, dataPoint.value);
                    live |= Flattener.LIVE_SAMPLER_METRIC.equals(dataPoint.name);
                }
            }
        } catch (Throwable unforeseen) {
            losses.dropped(DropReason.DROP_REASON_INTERNAL, 1);
            failed(unforeseen);
        } finally {
            flattener.end();
        }
        if (live) {
            sender.wakeLive();
        } else {
            sender.wake();
        }
    }

    private void start() {
        if (!started) {
            started = true;
            sender.start();
        }
    }

    private void failed(Throwable how) {
        if (!failed) {
            failed = true;
            LOG.warn("bullet-metrics: Skipped a data point or map entry that could not be read. Further ones are only counted (drop reason INTERNAL).",
                    how);
        }
    }

    /** Brings out what is queued, in bounded time. */
    @Override
    public void close() {
        closed = true;
        sender.close();
    }
}
