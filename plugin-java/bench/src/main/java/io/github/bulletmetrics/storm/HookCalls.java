package io.github.bulletmetrics.storm;

import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.tuple.Tuple;

/**
 * Prints the CPU time of Storm's call of a hook for an executed tuple, info object included: a hook that does nothing
 * and ours, in turns. By CPU time, so that it holds on a busy machine; {@link LatencyHookBenchmark} goes by the clock.
 */
public final class HookCalls {
    private static final int ROUNDS = 201;
    private static final int WARM_UP_ROUNDS = 60;
    private static final int CALLS = 1 << 18;
    /** Storm times one tuple in so many. */
    private static final int SAMPLED_EVERY = 20;

    private HookCalls() {
    }

    /** Prints the table. */
    public static void main(String[] arguments) {
        Map<String, HookedTask> tasks = new LinkedHashMap<>();
        tasks.put("a hook that does nothing", new HookedTask("ResultBolt", new BaseTaskHook()));
        tasks.put("ours in Storm's own components", new HookedTask("__acker", new LatencyHook()));
        tasks.put("ours in another bolt", new HookedTask("ResultBolt", new LatencyHook()));
        tasks.put("ours in FilterBolt", new HookedTask("FilterBolt", new LatencyHook()));
        List<Tuple> records = tasks.values().iterator().next().records();
        double[][] ns = new double[tasks.size()][ROUNDS];
        for (int round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
            int row = 0;
            for (HookedTask task : tasks.values()) {
                double took = round(task, records);
                if (round >= 0) {
                    ns[row][round] = took;
                }
                row++;
            }
        }
        System.out.println("| a tuple executed | ns of CPU: median (middle half) | more than a hook that does nothing |");
        System.out.println("|---|---|---|");
        int row = 0;
        for (String name : tasks.keySet()) {
            double[] more = new double[ROUNDS];
            for (int round = 0; round < ROUNDS; round++) {
                more[round] = ns[row][round] - ns[0][round];
            }
            double[] all = ns[row++].clone();
            Arrays.sort(all);
            Arrays.sort(more);
            System.out.printf(Locale.ROOT, "| %s | %.1f (%.1f to %.1f) | %.1f |%n", name, all[ROUNDS / 2],
                    all[ROUNDS / 4], all[3 * ROUNDS / 4], more[ROUNDS / 2]);
        }
    }

    private static double round(HookedTask task, List<Tuple> records) {
        long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        for (int call = 0; call < CALLS; call++) {
            new BoltExecuteInfo(records.get(call % records.size()), 5, call % SAMPLED_EVERY == 0 ? 1L : -1L)
                    .applyOn(task.context());
        }
        return (double) (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before) / CALLS;
    }
}
