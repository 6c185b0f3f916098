package io.github.bulletmetrics.storm;

import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import java.util.concurrent.TimeUnit;
import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.BoltAckInfo;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.hooks.info.EmitInfo;
import org.apache.storm.tuple.Tuple;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** What the latency hook costs a tuple, and what Storm's own calls of any hook cost, apart. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class LatencyHookBenchmark {
    private final LatencyHook inFilter = new LatencyHook();
    private final LatencyHook elsewhere = new LatencyHook();
    private final HookedTask filter = new HookedTask("FilterBolt", inFilter);
    private final HookedTask other = new HookedTask("ResultBolt", elsewhere);
    private final LatencyHook inAcker = new LatencyHook();
    private final HookedTask acker = new HookedTask("__acker", inAcker);
    private final HookedTask idle = new HookedTask("FilterBolt", new Keeping());
    private final List<Tuple> records = filter.records();
    /** Storm times one in 20. */
    private final BoltExecuteInfo[] infos = IntStream.range(0, records.size())
            .mapToObj(i -> new BoltExecuteInfo(records.get(i), 5, i % 20 == 0 ? 1L : -1L))
            .toArray(BoltExecuteInfo[]::new);
    private final List<Integer> outTasks = Collections.singletonList(6);
    private int next;

    /** Does nothing but keep the info object, which the compiler would not make otherwise. */
    private static final class Keeping extends BaseTaskHook {
        private Object kept;

        @Override
        public void boltExecute(BoltExecuteInfo info) {
            kept = info;
        }

        @Override
        public void emit(EmitInfo info) {
            kept = info;
        }

        @Override
        public void boltAck(BoltAckInfo info) {
            kept = info;
        }
    }

    private int next() {
        next = next + 1 & infos.length - 1;
        return next;
    }

    /** The hook's own work on a record in FilterBolt: all of it, the clock included. */
    @Benchmark
    public void recordInFilterBolt() {
        inFilter.boltExecute(infos[next()]);
    }

    /** The hook's own work on a tuple in any other bolt: the execute time, of one in 20. */
    @Benchmark
    public void tupleElsewhere() {
        elsewhere.boltExecute(infos[next()]);
    }

    /** The hook's own work on a tuple where it measures nothing. */
    @Benchmark
    public void tupleInAcker() {
        inAcker.boltExecute(infos[next()]);
    }

    /** The clock alone, which is in recordInFilterBolt. */
    @Benchmark
    public long clock() {
        return System.currentTimeMillis();
    }

    /**
     * What Storm does for a hook that does next to nothing, once an executed tuple: its info object, and the way to the
     * hook.
     */
    @Benchmark
    public void stormsExecuteInfo() {
        new BoltExecuteInfo(records.get(next()), 5, null).applyOn(idle.context());
    }

    /** The same, once an emitted tuple. */
    @Benchmark
    public void stormsEmitInfo() {
        new EmitInfo(records.get(next()).getValues(), "default", 5, outTasks).applyOn(idle.context());
    }

    /** The same, once a tuple that a bolt acknowledged. */
    @Benchmark
    public void stormsAckInfo() {
        new BoltAckInfo(records.get(next()), 5, null).applyOn(idle.context());
    }

    /** Storm's part and the hook's together, in FilterBolt. */
    @Benchmark
    public void executeInfoAndHook() {
        new BoltExecuteInfo(records.get(next()), 5, null).applyOn(filter.context());
    }

    /** Storm's part and the hook's together, elsewhere. */
    @Benchmark
    public void executeInfoAndHookElsewhere() {
        new BoltExecuteInfo(records.get(next()), 5, null).applyOn(other.context());
    }
}
