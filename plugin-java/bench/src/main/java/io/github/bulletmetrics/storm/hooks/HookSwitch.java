package io.github.bulletmetrics.storm.hooks;

import io.github.bulletmetrics.storm.LatencyHook;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.ITaskHook;
import org.apache.storm.hooks.info.BoltAckInfo;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.hooks.info.SpoutAckInfo;
import org.apache.storm.task.TopologyContext;

/**
 * Set for every task, it exchanges the task's hooks for those that are asked for: Storm makes info objects where a
 * task's list of hooks is not empty, so without a hook is without their cost.
 */
public final class HookSwitch extends BaseTaskHook {
    private static final List<HookSwitch> TASKS = new CopyOnWriteArrayList<>();
    private static final LongAdder CALLS = new LongAdder();

    private final ITaskHook empty = new BaseTaskHook();
    private final ITaskHook counting = new Counting();
    private final LatencyHook ours = new LatencyHook();
    private TopologyContext context;

    /** Which hook a task has. */
    enum Hook {
        /** None. */
        NONE,
        /** One that does nothing: what it costs is Storm's part of any hook. */
        EMPTY,
        /** The latency hook. */
        OURS,
        /** One that counts Storm's calls. */
        COUNTING
    }

    /** Counts its calls. */
    private static final class Counting extends BaseTaskHook {
        @Override
        public void emit(EmitInfo info) {
            CALLS.increment();
        }

        @Override
        public void spoutAck(SpoutAckInfo info) {
            CALLS.increment();
        }

        @Override
        public void boltExecute(BoltExecuteInfo info) {
            CALLS.increment();
        }

        @Override
        public void boltAck(BoltAckInfo info) {
            CALLS.increment();
        }
    }

    @Override
    public void prepare(Map conf, TopologyContext of) {
        context = of;
        ours.prepare(conf, of); // registers its metric, which later it may not
        TASKS.add(this);
    }

    /** Gives every task that hook. Only while no record is under way. */
    static void set(Hook hook) {
        for (HookSwitch task : TASKS) {
            List<ITaskHook> hooks = task.context.getHooks();
            hooks.clear();
            if (hook != Hook.NONE) {
                hooks.add(hook == Hook.EMPTY ? task.empty : hook == Hook.OURS ? task.ours : task.counting);
            }
        }
    }

    /** Calls that were counted. */
    static long calls() {
        return CALLS.sum();
    }
}
