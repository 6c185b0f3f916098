package io.github.bulletmetrics.storm.hooks;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.topology.TopologyBuilder;

/**
 * A topology of Storm 2.8.3 in this JVM, whose hooks are exchanged between short rounds; prints what a record cost the
 * executors' threads in each.
 *
 * <p>One spout, named as Bullet's record source, emits (record, timestamp) with acking; one bolt, named FilterBolt,
 * acknowledges; one acker. In a round exactly {@link #RECORDS} pass, and it ends when the last was acknowledged.
 * Executors park when idle rather than spin, so that their CPU is that of their work. The rounds of a triple follow
 * each other in random order; so what the machine does to one it does to the others.
 */
public final class HookCase {
    static final String RESULT = "TRIPLE";
    private static final long RECORDS = 40_000;
    private static final int WARM_UP_TRIPLES = Integer.getInteger("warmup", 20);
    private static final long IDLE_PARK_MICROS = 500;
    private static final int ACKED_WITHIN_SECONDS = 3_600;
    private static final com.sun.management.ThreadMXBean THREADS =
            (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();

    private HookCase() {
    }

    /**
     * Runs it.
     *
     * @param arguments how many triples, and what to draw the order by.
     */
    public static void main(String[] arguments) throws Exception {
        TopologyBuilder topology = new TopologyBuilder();
        topology.setSpout("DataSource", new Records.Source());
        topology.setBolt("FilterBolt", new Records.Filter()).shuffleGrouping("DataSource");
        try (LocalCluster cluster = new LocalCluster()) {
            cluster.submitTopology("hooks", configuration(), topology.createTopology());
            Records.pass(RECORDS);
            HookSwitch.set(HookSwitch.Hook.COUNTING);
            Records.pass(RECORDS);
            System.out.printf(Locale.ROOT, "CALLS %.3f%n", (double) HookSwitch.calls() / RECORDS);
            Random random = new Random(Long.parseLong(arguments[1]));
            for (int triple = 0; triple < WARM_UP_TRIPLES; triple++) {
                triple(random);
            }
            for (int triple = 0; triple < Integer.parseInt(arguments[0]); triple++) {
                double[][] costs = triple(random);
                System.out.printf(Locale.ROOT, "%s %.1f %.1f %.1f %.1f %.1f %.1f%n", RESULT, costs[0][0], costs[1][0],
                        costs[2][0], costs[0][1], costs[1][1], costs[2][1]);
            }
            KillOptions now = new KillOptions();
            now.set_wait_secs(0);
            cluster.killTopologyWithOpts("hooks", now);
        }
        System.exit(0);
    }

    private static Config configuration() {
        Config conf = new Config();
        conf.setNumAckers(1);
        conf.setMaxSpoutPending(10_000);
        // No tick may come while hooks are exchanged, and nothing be emitted twice.
        conf.setMessageTimeoutSecs(ACKED_WITHIN_SECONDS);
        conf.put(Config.TOPOLOGY_AUTO_TASK_HOOKS, Collections.singletonList(HookSwitch.class.getName()));
        for (String who : Arrays.asList("spout", "bolt", "backpressure")) {
            conf.put("topology." + who + ".wait.strategy", "org.apache.storm.policy.WaitStrategyPark");
            conf.put("topology." + who + ".wait.park.microsec", IDLE_PARK_MICROS);
        }
        return conf;
    }

    /** Without a hook, with an empty one, with ours: ns of CPU and bytes allocated, a record. */
    private static double[][] triple(Random random) throws InterruptedException {
        List<HookSwitch.Hook> order = new ArrayList<>(Arrays.asList(HookSwitch.Hook.NONE, HookSwitch.Hook.EMPTY,
                HookSwitch.Hook.OURS));
        Collections.shuffle(order, random);
        double[][] costs = new double[order.size()][];
        for (HookSwitch.Hook hook : order) {
            HookSwitch.set(hook);
            long[] before = ofExecutors();
            Records.pass(RECORDS);
            long[] after = ofExecutors();
            costs[hook.ordinal()] = new double[] {(double) (after[0] - before[0]) / RECORDS,
                    (double) (after[1] - before[1]) / RECORDS};
        }
        return costs;
    }

    /** CPU, ns, and allocations, bytes, of the threads of the spout, the bolt and the acker so far. */
    private static long[] ofExecutors() {
        long[] sums = new long[2];
        int executors = 0;
        for (java.lang.management.ThreadInfo thread : THREADS.getThreadInfo(THREADS.getAllThreadIds())) {
            if (thread != null && thread.getThreadName().matches(".*(DataSource|FilterBolt|__acker)-executor.*")) {
                sums[0] += THREADS.getThreadCpuTime(thread.getThreadId());
                sums[1] += THREADS.getThreadAllocatedBytes(thread.getThreadId());
                executors++;
            }
        }
        if (executors != 3) {
            throw new IllegalStateException("expected the threads of three executors, found " + executors);
        }
        return sums;
    }
}
