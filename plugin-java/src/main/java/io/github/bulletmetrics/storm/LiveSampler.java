package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.flatten.Flattener;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.TopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports the samples of the worker's {@link WorkerSampler} every two seconds, so that a page can show them while they
 * are new. Storm reads a worker metric only once per {@code topology.builtin.metrics.bucket.size.secs}, but a task hook
 * may register a metric with an interval of its own. {@link LatencyHook} does so in the task of Storm's SystemBolt.
 *
 * <p>It has no samples of its own. It takes them from the WorkerSampler that SystemBolt registered in the same task, so
 * that every sample is reported once, also where several workers share a JVM. If nothing takes them, for example
 * because the topology has no hook, the WorkerSampler reports them itself at Storm's interval.
 *
 * <p>Storm calls both metrics on the thread of SystemBolt's executor. An exception would end the worker, so that a
 * failure prevents the live reports instead and is logged once.
 */
final class LiveSampler implements IMetric {
    /** Time between two reports, s. */
    static final int INTERVAL_SECONDS = 2;
    private static final String SYSTEM_BOLT = "__system";
    /** The worker metrics of all topologies of a cluster; a name that {@link Config} does not have on every Storm. */
    private static final String WORKER_METRICS = "worker.metrics";

    private final TopologyContext context;
    private WorkerSampler sampler;
    private boolean failed;

    private LiveSampler(TopologyContext context) {
        this.context = context;
    }

    /**
     * Registers the live reports if the task is SystemBolt's, its worker has a sampler, and Storm reads that one less
     * often.
     *
     * @param stormSeconds the interval at which Storm reads worker metrics, s.
     */
    static void register(Map<?, ?> conf, TopologyContext context, int stormSeconds) {
        try {
            if (SYSTEM_BOLT.equals(context.getThisComponentId()) && stormSeconds > INTERVAL_SECONDS
                    && (hasSampler(conf.get(Config.TOPOLOGY_WORKER_METRICS)) || hasSampler(conf.get(WORKER_METRICS)))) {
                context.registerMetric(Flattener.LIVE_SAMPLER_METRIC, new LiveSampler(context), INTERVAL_SECONDS);
            }
        } catch (Throwable wrong) {
            log(wrong);
        }
    }

    private static boolean hasSampler(Object workerMetrics) {
        return workerMetrics instanceof Map
                && WorkerSampler.class.getName().equals(((Map<?, ?>) workerMetrics).get(Flattener.SAMPLER_METRIC));
    }

    /** The samples since the last call as a byte[]; null, for which Storm makes no data point, when there is none. */
    @Override
    public Object getValueAndReset() {
        if (sampler == null && !failed) {
            try {
                sampler = find();
            } catch (Throwable wrong) {
                failed = true;
                log(wrong);
            }
        }
        // From here on it never fails. The collector would take packs of 10 s that follow for duplicates.
        return sampler == null ? null : sampler.takeLive();
    }

    /** The sampler of this worker; null as long as SystemBolt has not registered it. */
    private WorkerSampler find() {
        IMetric registered = context.getRegisteredMetricByName(Flattener.SAMPLER_METRIC);
        return registered instanceof WorkerSampler ? (WorkerSampler) registered : null;
    }

    private static void log(Throwable why) {
        try {
            Logger log = LoggerFactory.getLogger(LiveSampler.class);
            log.error("bullet-metrics: Live reports of CPU, heap and GC are not possible in this worker. The samples are reported once per topology.builtin.metrics.bucket.size.secs.", why);
        } catch (Throwable noLog) {
            // Logging must not end the worker either.
        }
    }
}
