package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.sampler.Sampler;
import org.apache.storm.metric.api.IMetric;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports CPU, heap and garbage collections of the worker in which it runs. It is the class to name in {@code
 * topology.worker.metrics}. Its value is a {@link io.github.bulletmetrics.storm.sampler.SamplePack pack} of samples.
 *
 * <p>Storm's SystemBolt creates one sampler in each worker and reads it on its executor thread. An exception would end
 * the worker, so that any failure ends the sampling instead and is logged once.
 */
public class WorkerSampler implements IMetric {
    private Sampler sampler;

    /** Starts sampling. Storm's. */
    public WorkerSampler() {
        try {
            sampler = Sampler.start();
        } catch (Throwable noSampling) {
            abandon(noSampling);
        }
    }

    /** The samples since the last call as a byte[]; null, for which Storm makes no data point, when there is none. */
    @Override
    public Object getValueAndReset() {
        try {
            return sampler == null ? null : sampler.take();
        } catch (Throwable noSampling) {
            abandon(noSampling);
            return null;
        }
    }

    private void abandon(Throwable why) {
        sampler = null;
        try {
            Logger log = LoggerFactory.getLogger(WorkerSampler.class);
            log.error("bullet-metrics: Sampling of CPU, heap and GC stopped in this worker.", why);
        } catch (Throwable noLog) {
            // Logging must not end the worker either.
        }
    }
}
