package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.proto.v1.Open;
import java.util.Collection;
import java.util.Map;
import java.util.function.Function;
import org.apache.storm.metric.api.IMetricsConsumer;
import org.apache.storm.task.IErrorReporter;
import org.apache.storm.task.TopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Exports the metrics of a topology to Bullet Metrics collectors. This is the class to name in {@code
 * topology.metrics.consumer.register} of any Storm topology.
 *
 * <p>The settings, {@code bullet.topology.metrics.collector.*}, come from the {@code argument} of the registration (see
 * {@link Argument}). Settings that are missing there come from the topology's configuration.
 *
 * <p>The consumer must never harm the topology that it observes. An exception could end the worker, so that it catches
 * everything. With invalid settings it logs the reason once and exports nothing. It never waits for a collector, except
 * for a bounded time in {@link #cleanup}.
 */
public class StormMetricsConsumer implements IMetricsConsumer {
    private static final Logger LOG = LoggerFactory.getLogger(StormMetricsConsumer.class);

    private volatile MetricsPipeline pipeline;

    /** Storm's. */
    public StormMetricsConsumer() {
    }

    @Override
    @SuppressWarnings("rawtypes") // The signature of Storm 1.x, whose erasure is that of 2.x.
    public void prepare(Map stormConf, Object registrationArgument, TopologyContext context,
            IErrorReporter errorReporter) {
        try {
            Argument argument = new Argument(registrationArgument);
            for (String name : argument.unknown()) {
                LOG.warn("bullet-metrics: Ignored the unknown setting {}. Known settings: {}", name, Settings.NAMES);
            }
            for (String ignored : argument.ignored()) {
                LOG.warn("bullet-metrics: Ignored a part of the registration's argument: {}.", ignored);
            }
            Function<String, Object> configuration = lookup(argument, stormConf);
            Settings settings = Settings.from(configuration);
            warnOfOpenToken(settings);
            Open open = TopologyFacts.open(stormConf, context);
            pipeline = new MetricsPipeline(settings, open, TopologyFacts.info(stormConf, configuration, context));
            LOG.info("bullet-metrics: Sending metrics to {}{}; the queue holds up to {} samples.",
                    settings.addresses(open.getTopology()), settings.security().tls() ? " over TLS" : "",
                    settings.queueCapacity());
        } catch (Throwable wrong) {
            LOG.error("bullet-metrics: No metrics are exported: {}. The topology continues without them.",
                    wrong.getMessage(), wrong);
        }
    }

    private static Function<String, Object> lookup(Argument argument, Map<?, ?> conf) {
        return name -> {
            Object value = argument.get(name);
            return value == null ? conf.get(name) : value;
        };
    }

    private static void warnOfOpenToken(Settings settings) {
        boolean leavesMachine = settings.addresses().stream().anyMatch(address -> !address.isLoopback());
        if (settings.security().token() != null && !settings.security().tls() && leavesMachine) {
            LOG.warn("bullet-metrics: Sending the bearer token unencrypted: {} is set, but {} is not true.", Settings.TOKEN_FILE,
                    Settings.TLS_ENABLED);
        }
    }

    @Override
    public void handleDataPoints(TaskInfo taskInfo, Collection<DataPoint> dataPoints) {
        MetricsPipeline to = pipeline;
        if (to != null) {
            to.handle(taskInfo, dataPoints);
        }
    }

    /** Brings out what is queued, for 5 s at most. May overlap {@link #handleDataPoints} and be called again. */
    @Override
    public void cleanup() {
        MetricsPipeline to = pipeline;
        if (to != null) {
            to.close();
        }
    }
}
