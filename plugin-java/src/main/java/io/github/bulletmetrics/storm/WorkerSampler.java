package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.sampler.Sampler;
import java.util.function.Supplier;
import org.apache.storm.metric.api.IMetric;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reports CPU, heap and garbage collections of the worker in which it runs. It is the class to name in {@code
 * topology.worker.metrics}. Its value is a {@link io.github.bulletmetrics.storm.sampler.SamplePack pack} of samples.
 *
 * <p>Storm's SystemBolt creates one sampler in each worker and reads it on its executor thread, usually every 10 s. If
 * a {@link LiveSampler} takes the samples more often, SystemBolt gets none. An exception would end the worker, so that
 * any failure ends the sampling instead and is logged once.
 */
public class WorkerSampler implements IMetric {
    /** Takes the samples since the last call; null after a failure. */
    private Supplier<byte[]> samples;
    /** Whether samples were taken live since SystemBolt's last reading. */
    private boolean takenLive;

    /** Starts sampling. Storm's. */
    public WorkerSampler() {
        try {
            samples = Sampler.start()::take;
        } catch (Throwable noSampling) {
            abandon(noSampling);
        }
    }

    WorkerSampler(Supplier<byte[]> samples) {
        this.samples = samples;
    }

    /**
     * The samples since the last call as a byte[]; null, for which Storm makes no data point, when there is none or
     * when a {@link LiveSampler} reports them.
     */
    @Override
    public Object getValueAndReset() {
        if (takenLive) {
            takenLive = false;
            return null;
        }
        return take();
    }

    /** As {@link #getValueAndReset}, for the live reports. Called on the same thread. */
    Object takeLive() {
        takenLive = true;
        return take();
    }

    private Object take() {
        try {
            return samples == null ? null : samples.get();
        } catch (Throwable noSampling) {
            abandon(noSampling);
            return null;
        }
    }

    private void abandon(Throwable why) {
        samples = null;
        try {
            Logger log = LoggerFactory.getLogger(WorkerSampler.class);
            log.error("bullet-metrics: Sampling of CPU, heap and GC stopped in this worker.", why);
        } catch (Throwable noLog) {
            // Logging must not end the worker either.
        }
    }
}
