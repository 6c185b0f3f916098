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
import org.apache.storm.Config;
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
    /** The only Storm that adds the worker's other metrics to every report of SystemBolt, and so to the live ones. */
    private static final String REPEATING_STORM = "2.2.";
    /** The only one of these metrics that is 1 when it is first read, and 0 afterwards. */
    private static final String ONCE = "newWorkerEvent";

    private final Losses losses = new Losses();
    private final Flattener flattener;
    private final Sender sender;
    private final boolean stormRepeats;
    /** The interval of SystemBolt's own reports, s; 0 if unknown. */
    private final int systemSeconds;
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
        stormRepeats = topology.getStormVersion().startsWith(REPEATING_STORM);
        String interval = topology.getSettingsMap().getOrDefault(Config.TOPOLOGY_BUILTIN_METRICS_BUCKET_SIZE_SECS, "");
        systemSeconds = interval.matches("[1-9][0-9]{0,5}") ? Integer.parseInt(interval) : 0;
    }

    /** Queues what a task reported. Never waits for the network, never throws. */
    synchronized void handle(TaskInfo task, Collection<DataPoint> dataPoints) {
        if (closed || task == null || dataPoints == null) {
            return;
        }
        boolean live = false;
        try {
            start();
            live = isLive(dataPoints);
            if (live && stormRepeats) {
                once(task, dataPoints);
            }
            begin(task, task.updateIntervalSecs);
            for (DataPoint dataPoint : dataPoints) {
                if (dataPoint != null && !(live && stormRepeats
                        && !Flattener.LIVE_SAMPLER_METRIC.equals(dataPoint.name))) {
                    flattener.add(dataPoint.name, dataPoint.value);
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

    private static boolean isLive(Collection<DataPoint> dataPoints) {
        for (DataPoint dataPoint : dataPoints) {
            if (dataPoint != null && Flattener.LIVE_SAMPLER_METRIC.equals(dataPoint.name)) {
                return true;
            }
        }
        return false;
    }

    private void begin(TaskInfo task, int intervalSeconds) {
        flattener.begin(task.srcWorkerHost, task.srcWorkerPort, task.srcComponentId, task.srcTaskId, task.timestamp,
                intervalSeconds, System.nanoTime() / 1_000_000);
    }

    /**
     * SystemBolt's own report has the metrics that Storm repeats in a live report, except {@link #ONCE}, which becomes
     * 0 when it is read. It is queued as if SystemBolt's own report had it.
     */
    private void once(TaskInfo task, Collection<DataPoint> dataPoints) {
        for (DataPoint dataPoint : dataPoints) {
            if (dataPoint != null && ONCE.equals(dataPoint.name) && Integer.valueOf(1).equals(dataPoint.value)
                    && systemSeconds > 0) {
                begin(task, systemSeconds);
                flattener.add(dataPoint.name, dataPoint.value);
                flattener.end();
            }
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
