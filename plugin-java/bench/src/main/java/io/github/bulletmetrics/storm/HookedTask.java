package io.github.bulletmetrics.storm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.TupleImpl;
import org.apache.storm.tuple.Values;

/** A task of the newest Storm, with the context, the hook and the tuples that it has in a worker. */
final class HookedTask {
    private static final int SOURCE_TASK = 1;
    private static final int TASK = 5;
    private static final int TUPLES = 4_096;

    private final TopologyContext context;

    HookedTask(String component, ITaskHook hook) {
        Map<Integer, String> tasks = new HashMap<>();
        tasks.put(SOURCE_TASK, "DataSource");
        tasks.put(TASK, component);
        Map<String, Fields> streams = Collections.singletonMap("default", new Fields("record", "timestamp"));
        StormTopology topology = new StormTopology(new HashMap<>(),
                new HashMap<>(Collections.singletonMap(component, new Bolt())), new HashMap<>());
        context = new TopologyContext(topology, new HashMap<>(), tasks, new HashMap<>(),
                Collections.singletonMap("DataSource", streams), new HashMap<>(), "bullet-1-1700000000", "", "", TASK,
                6700, Arrays.asList(TASK),
                new HashMap<>(), new HashMap<>(), new HashMap<>(), new HashMap<>(), new AtomicBoolean(false), null);
        if (hook != null) {
            context.addTaskHook(hook); // prepares it
        }
    }

    TopologyContext context() {
        return context;
    }

    /** Records of the last ten seconds. */
    List<Tuple> records() {
        long now = System.currentTimeMillis();
        List<Tuple> records = new ArrayList<>();
        for (int i = 0; i < TUPLES; i++) {
            records.add(new TupleImpl(context, new Values("record", now - i * 7_919L % 10_000), "DataSource",
                    SOURCE_TASK, "default"));
        }
        return records;
    }
}
