package io.github.bulletmetrics.storm;

import io.github.bulletmetrics.storm.flatten.Flattener;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.storm.Config;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.task.TopologyContext;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Measures how long each bolt executes tuples, the latencies of records in FilterBolt, and the latencies of queries in
 * JoinBolt. It is the class to name in {@code topology.auto.task.hooks}. In the task of Storm's SystemBolt it registers
 * the {@link LiveSampler}. In spouts and in Storm's other components it does nothing.
 *
 * <p>Storm creates one hook for each task. It calls {@link #prepare} before the task's executor begins, and everything
 * else on the executor's thread. Therefore the fields need no synchronization. {@link #boltExecute} and {@link #emit}
 * run for each tuple and must stay cheap.
 *
 * <p>An exception would end the worker, so that any failure ends the measuring in this task. The failure is logged
 * once. In FilterBolt and JoinBolt {@link #COUNTS_METRIC} also reports it, so that missing latencies are not mistaken
 * for an idle task.
 */
public class LatencyHook extends BaseTaskHook {
    /** The metric of its own counts. */
    static final String COUNTS_METRIC = "bullet-metrics.latency-hook";
    private static final int DEFAULT_INTERVAL_SECONDS = 60;

    /** Null if nothing is measured, for example after a failure. */
    private ExecuteTimes times;
    /** Null if no latencies are measured, for example after a failure. */
    private LatencyProbe probe;
    private boolean failed;

    /** Storm's. */
    public LatencyHook() {
    }

    @Override
    @SuppressWarnings("rawtypes") // The signature of Storm 1.x, whose erasure is that of 2.x.
    public void prepare(Map conf, TopologyContext context) {
        try {
            String component = context.getThisComponentId();
            int interval = intervalSeconds(conf);
            LiveSampler.register(conf, context, interval);
            if (!component.startsWith("__") && context.getRawTopology().get_bolts().containsKey(component)) {
                ExecuteTimes executions = new ExecuteTimes(conf);
                context.registerMetric(ExecuteTimes.METRIC, () -> measured(this::executeTotals), interval);
                times = executions;
            }
            LatencyProbe measures = probeOf(component);
            if (measures != null) {
                context.registerMetric(Flattener.LATENCY_METRIC, () -> measured(this::pack), interval);
                context.registerMetric(COUNTS_METRIC, () -> measured(this::counts), interval);
                probe = measures;
            }
        } catch (Throwable wrong) {
            abandon(wrong);
        }
    }

    private static LatencyProbe probeOf(String component) {
        if (FilterProbe.COMPONENT.equals(component)) {
            return new FilterProbe();
        }
        return QueryProbe.COMPONENT.equals(component) ? new QueryProbe() : null;
    }

    /** The interval of Storm's own counts. */
    private static int intervalSeconds(Map<?, ?> conf) {
        Object seconds = conf.get(Config.TOPOLOGY_BUILTIN_METRICS_BUCKET_SIZE_SECS);
        return seconds instanceof Number && ((Number) seconds).intValue() > 0 ? ((Number) seconds).intValue()
                : DEFAULT_INTERVAL_SECONDS;
    }

    @Override
    public void boltExecute(BoltExecuteInfo info) {
        try {
            if (times != null) {
                times.executed(info.executeLatencyMs);
            }
            if (probe != null) {
                probe.executed(info.tuple);
            }
        } catch (Throwable wrong) {
            abandon(wrong);
        }
    }

    @Override
    public void emit(EmitInfo info) {
        LatencyProbe to = probe;
        if (to != null) {
            try {
                to.emitted(info.stream, info.values);
            } catch (Throwable wrong) {
                abandon(wrong);
            }
        }
    }

    /** A value for Storm; null, for which Storm makes no data point, after a failure. */
    private Object measured(Supplier<Object> value) {
        try {
            return value.get();
        } catch (Throwable wrong) {
            abandon(wrong);
            return null;
        }
    }

    /** The distributions since the task's start, as a {@link io.github.bulletmetrics.storm.latency.LatencyPack}. */
    private Object pack() {
        return probe == null ? null : probe.pack();
    }

    private Object executeTotals() {
        return times == null ? null : times.totals();
    }

    /** Counts of what could not be measured since the task's start, in types that Kryo knows on every Storm. */
    private Object counts() {
        HashMap<String, Long> counts = new HashMap<>();
        counts.put("failed", failed ? 1L : 0L);
        if (probe != null) {
            probe.addCounts(counts);
        }
        return counts;
    }

    private void abandon(Throwable why) {
        times = null;
        probe = null;
        failed = true;
        try {
            Logger log = LoggerFactory.getLogger(LatencyHook.class);
            log.error("bullet-metrics: Latency measurement stopped in this task. The task itself continues.", why);
        } catch (Throwable noLog) {
            // Logging must not end the worker either.
        }
    }
}
