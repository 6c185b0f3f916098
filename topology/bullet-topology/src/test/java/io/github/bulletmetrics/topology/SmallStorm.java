package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.record.BulletRecord;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.generated.Bolt;
import org.apache.storm.generated.ComponentCommon;
import org.apache.storm.generated.GlobalStreamId;
import org.apache.storm.generated.Grouping;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.grouping.CustomStreamGrouping;
import org.apache.storm.spout.ISpoutOutputCollector;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.IOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.topology.IRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.utils.Utils;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.IntStream;

/**
 * Runs the topology that the wiring makes on the caller's thread: bolts as Storm would unpack them, tuples grouped as
 * they are wired, acks counted up the tree. Records and ticks come from the test; tasks can die and come back.
 */
final class SmallStorm {
    /** A spout's tuple and all that is anchored to it. */
    private static final class Root {
        private final int spout;
        private final Object id;
        private int open;
        private boolean failed;

        private Root(int spout, Object id) {
            this.spout = spout;
            this.id = id;
        }
    }

    private record Delivery(int task, Tuple tuple, Set<Root> roots) {
    }

    final MemoryPubSub.Board board;
    private final StormTopology topology;
    private final Map<String, List<Integer>> tasks = new TreeMap<>();
    private final Map<Integer, FakeContext> contexts = new HashMap<>();
    private final Map<Integer, IRichBolt> bolts = new HashMap<>();
    private final Map<Integer, QuerySpout> spouts = new HashMap<>();
    private final Map<String, CustomStreamGrouping> custom = new HashMap<>();
    private final Queue<Delivery> inFlight = new ArrayDeque<>();
    private final Map<Tuple, Delivery> executing = new IdentityHashMap<>();
    private final Set<Root> open = new LinkedHashSet<>();
    private final Map<String, Integer> emitted = new TreeMap<>();
    private int shuffled;

    /** Starts every task; what bolts emit at their start is delivered. */
    SmallStorm(BulletStormConfig config) {
        String name = UUID.randomUUID().toString();
        config.set(BulletStormConfig.PUBSUB_CLASS_NAME, MemoryPubSub.class.getName());
        config.set(MemoryPubSub.NAME, name);
        board = MemoryPubSub.board(name);
        topology = Wiring.topology(config.validate());
        topology.get_spouts().forEach((component, spout) -> number(component, spout.get_common()));
        topology.get_bolts().forEach((component, bolt) -> number(component, bolt.get_common()));
        topology.get_bolts().keySet().forEach(this::prepareGroupings);
        topology.get_bolts().keySet()
                .forEach(component -> tasks.get(component).forEach(task -> start(component, task)));
        tasks.get("QuerySpout").forEach(this::startSpout);
        drain();
    }

    private void number(String component, ComponentCommon common) {
        int first = 1 + tasks.values().stream().mapToInt(List::size).sum();
        tasks.put(component, IntStream.range(first, first + common.get_parallelism_hint()).boxed().toList());
    }

    private void prepareGroupings(String component) {
        inputs(component).forEach((stream, grouping) -> {
            if (grouping.is_set_custom_serialized()) {
                CustomStreamGrouping unpacked = Utils.javaDeserialize(grouping.get_custom_serialized(),
                        CustomStreamGrouping.class);
                unpacked.prepare(new FakeContext(tasks, 1), stream, tasks.get(component));
                custom.put(component + "<" + stream, unpacked);
            }
        });
    }

    private Map<GlobalStreamId, Grouping> inputs(String component) {
        return topology.get_bolts().get(component).get_common().get_inputs();
    }

    private void start(String component, int task) {
        Bolt declared = topology.get_bolts().get(component);
        IRichBolt bolt = Utils.javaDeserialize(declared.get_bolt_object().get_serialized_java(), IRichBolt.class);
        bolts.put(task, bolt);
        bolt.prepare(Map.of(), context(task), new OutputCollector(new BoltCollector(component, task)));
    }

    private void startSpout(int task) {
        QuerySpout spout = Utils.javaDeserialize(
            topology.get_spouts().get("QuerySpout").get_spout_object().get_serialized_java(), QuerySpout.class);
        spouts.put(task, spout);
        spout.open(Map.of(), context(task), new SpoutOutputCollector(new SpoutCollector(task)));
        spout.activate();
    }

    private FakeContext context(int task) {
        FakeContext context = new FakeContext(tasks, task);
        contexts.put(task, context);
        return context;
    }

    /** The id of a component's task. */
    int task(String component, int index) {
        return tasks.get(component).get(index);
    }

    /** A metric of a task. */
    Object metric(String component, int index, String metric) {
        return contexts.get(task(component, index)).value(metric);
    }

    /** How many tuples a component has emitted on a stream. */
    int emitted(String componentAndStream) {
        return emitted.getOrDefault(componentAndStream, 0);
    }

    /** Publishes a query or a signal, and lets the spouts read all that was published. */
    void submit(PubSubMessage message) {
        board.queries.add(message);
        run();
    }

    /** Lets the query spouts in turn read all that was published, what comes of it included. */
    void run() {
        drain();
        while (!board.queries.isEmpty()) {
            for (QuerySpout spout : spouts.values()) {
                if (!board.queries.isEmpty()) {
                    spout.nextTuple();
                    drain();
                }
            }
        }
    }

    /** One query spout reads one message. */
    void read(int spoutIndex) {
        spouts.get(task("QuerySpout", spoutIndex)).nextTuple();
        drain();
    }

    void tick() {
        route("TickSpout", task("TickSpout", 0), "default", List.of(1, 1L), Set.of());
        drain();
    }

    /** Shows a record to the next filter bolt task. */
    void record(BulletRecord<?> record) {
        route("DataSource", task("DataSource", 0), "default", List.of(record, System.currentTimeMillis()), Set.of());
        drain();
    }

    /** Lets a bolt's task die: what it knew is lost, and so is what is sent to it. */
    void kill(String component, int index) {
        bolts.remove(task(component, index));
    }

    /** Brings a task back, or restarts it. */
    void restart(String component, int index) {
        start(component, task(component, index));
        drain();
    }

    /** Fails what has waited for an ack too long: all that is open. */
    void timeOut() {
        List<Root> late = List.copyOf(open);
        open.clear();
        late.forEach(root -> spouts.get(root.spout).fail(root.id));
        drain();
    }

    private void drain() {
        while (!inFlight.isEmpty()) {
            Delivery delivery = inFlight.remove();
            IRichBolt bolt = bolts.get(delivery.task());
            if (bolt != null) {
                executing.put(delivery.tuple(), delivery);
                bolt.execute(delivery.tuple());
                executing.remove(delivery.tuple());
            }
        }
    }

    private void route(String component, int fromTask, String stream, List<Object> values, Set<Root> roots) {
        emitted.merge(component + " " + stream, 1, Integer::sum);
        GlobalStreamId id = new GlobalStreamId(component, stream);
        for (String bolt : topology.get_bolts().keySet()) {
            Grouping grouping = inputs(bolt).get(id);
            if (grouping != null) {
                targets(bolt, id, grouping, fromTask, values)
                        .forEach(task -> deliver(task, component, fromTask, stream, values, roots));
            }
        }
    }

    private List<Integer> targets(String bolt, GlobalStreamId id, Grouping grouping, int fromTask,
            List<Object> values) {
        List<Integer> all = tasks.get(bolt);
        return switch (grouping.getSetField()) {
            case ALL -> all;
            case SHUFFLE -> List.of(all.get(shuffled++ % all.size()));
            // Not as IDGrouping does it, so that a task is not right by chance.
            case FIELDS -> List.of(all.get(Math.floorMod(values.get(0).hashCode() + 1, all.size())));
            case CUSTOM_SERIALIZED -> custom.get(bolt + "<" + id).chooseTasks(fromTask, values);
            default -> throw new IllegalStateException(grouping.toString());
        };
    }

    private void deliver(int task, String component, int fromTask, String stream, List<Object> values,
            Set<Root> roots) {
        roots.forEach(root -> root.open++);
        inFlight.add(new Delivery(task, FakeTuples.from(fromTask, component, stream, values), roots));
    }

    private void done(Tuple tuple, boolean failed) {
        for (Root root : executing.get(tuple).roots()) {
            root.failed |= failed;
            if (--root.open == 0) {
                finish(root);
            }
        }
    }

    private void finish(Root root) {
        if (open.remove(root)) {
            QuerySpout spout = spouts.get(root.spout);
            if (root.failed) {
                spout.fail(root.id);
            } else {
                spout.ack(root.id);
            }
        }
    }

    private final class BoltCollector implements IOutputCollector {
        private final String component;
        private final int task;

        private BoltCollector(String component, int task) {
            this.component = component;
            this.task = task;
        }

        @Override
        public List<Integer> emit(String stream, Collection<Tuple> anchors, List<Object> values) {
            route(component, task, stream, values, roots(anchors));
            return List.of();
        }

        @Override
        public void emitDirect(int toTask, String stream, Collection<Tuple> anchors, List<Object> values) {
            emitted.merge(component + " " + stream, 1, Integer::sum);
            deliver(toTask, component, task, stream, values, roots(anchors));
        }

        private Set<Root> roots(Collection<Tuple> anchors) {
            Set<Root> roots = new LinkedHashSet<>();
            if (anchors != null) {
                anchors.forEach(anchor -> roots.addAll(executing.get(anchor).roots()));
            }
            return roots;
        }

        @Override
        public void ack(Tuple tuple) {
            done(tuple, false);
        }

        @Override
        public void fail(Tuple tuple) {
            done(tuple, true);
        }

        @Override
        public void resetTimeout(Tuple tuple) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void flush() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void reportError(Throwable error) {
            throw new IllegalStateException(error);
        }
    }

    private final class SpoutCollector implements ISpoutOutputCollector {
        private final int task;

        private SpoutCollector(int task) {
            this.task = task;
        }

        @Override
        public List<Integer> emit(String stream, List<Object> values, Object id) {
            if (id == null) {
                route("QuerySpout", task, stream, values, Set.of());
                return new ArrayList<>();
            }
            Root root = new Root(task, id);
            open.add(root);
            route("QuerySpout", task, stream, values, Set.of(root));
            if (root.open == 0) {
                finish(root);
            }
            return new ArrayList<>();
        }

        @Override
        public void emitDirect(int toTask, String stream, List<Object> values, Object id) {
            throw new UnsupportedOperationException();
        }

        @Override
        public void flush() {
            throw new UnsupportedOperationException();
        }

        @Override
        public void reportError(Throwable error) {
            throw new IllegalStateException(error);
        }

        @Override
        public long getPendingCount() {
            return open.size();
        }
    }
}
