package io.github.bulletmetrics.topology;

import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.storage.StorageManager;
import com.yahoo.bullet.storm.BuiltInMetric;
import com.yahoo.bullet.storm.BulletStormConfig;
import com.yahoo.bullet.storm.ComponentSettings;
import io.github.bulletmetrics.topology.grouping.TaskIndexCaptureGrouping;
import io.github.bulletmetrics.topology.metrics.BuiltInMetrics;
import io.github.bulletmetrics.topology.metrics.CountsByKey;
import io.github.bulletmetrics.topology.replay.BatchFormat;
import io.github.bulletmetrics.topology.replay.BatchedQueries;
import io.github.bulletmetrics.topology.replay.TaskReplay;

import org.apache.storm.metric.api.IMetric;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.storm.tuple.Values;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.ExecutionException;

/**
 * Keeps every query that runs (those of Bullet's storage at its start, then what the query spout sends) and gives them
 * to filter and join tasks that ask for them, one batch after another.
 */
public final class ReplayBolt extends BaseRichBolt {
    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(ReplayBolt.class);

    private final BulletStormConfig config;
    private transient OutputCollector collector;
    private transient TopologyContext context;
    private transient BatchedQueries queries;
    /** By who asked; at most one entry a filter or join task. */
    private transient Map<String, TaskReplay> replays;
    private transient CountsByKey active;
    private transient CountsByKey created;

    /**
     * Keeps the settings for the worker.
     *
     * @param config the topology's settings, those of Bullet's storage among them.
     */
    public ReplayBolt(BulletStormConfig config) {
        this.config = config;
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector collector) {
        this.collector = collector;
        this.context = context;
        replays = new HashMap<>();
        queries = new BatchedQueries(config.getAs(ComponentSettings.JOIN_BOLT.parallelism(), Integer.class),
            config.getAs(BulletStormConfig.REPLAY_BATCH_SIZE, Integer.class),
            BatchFormat.of(config.getAs(BulletStormConfig.REPLAY_BATCH_COMPRESS_ENABLE, Boolean.class)));
        queries.reset(stored());
        BuiltInMetrics metrics = new BuiltInMetrics(config);
        IMetric batched = () -> queries.size();
        metrics.register(BuiltInMetric.BATCHED_QUERIES, batched, context);
        active = metrics.register(BuiltInMetric.ACTIVE_REPLAYS, new CountsByKey(), context);
        created = metrics.register(BuiltInMetric.CREATED_REPLAYS, new CountsByKey(), context);
    }

    @SuppressWarnings("unchecked") // What Bullet's storage holds are the messages of queries.
    private Map<String, PubSubMessage> stored() {
        try {
            Map<String, PubSubMessage> stored = (Map<String, PubSubMessage>) StorageManager.from(config).getAll().get();
            LOG.info("Read {} queries from Bullet's storage", stored.size());
            return stored;
        } catch (ExecutionException | RuntimeException e) {
            throw new IllegalStateException("Cannot read the stored queries: check the bullet.storage.* settings", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("Interrupted while reading the stored queries", e);
        }
    }

    @Override
    public void execute(Tuple tuple) {
        if (!Streams.QUERY_COMPONENT.equals(tuple.getSourceComponent())) {
            LOG.error("Skipped a tuple of unknown origin: {} {}", tuple.getSourceComponent(),
                    tuple.getSourceStreamId());
            return;
        }
        switch (tuple.getSourceStreamId()) {
            case Streams.REPLAY_STREAM -> onReplay(tuple, tuple.getString(0), tuple.getLong(1), tuple.getBoolean(2));
            case Streams.METADATA_STREAM -> {
                onSignal(tuple.getString(0), (Metadata) tuple.getValue(1));
                collector.ack(tuple);
            }
            default -> {
                queries.add(tuple.getString(0), (PubSubMessage) tuple.getValue(1));
                collector.ack(tuple);
            }
        }
    }

    private void onSignal(String id, Metadata metadata) {
        if (metadata == null) {
            return;
        }
        if (Streams.endsQuery(metadata.getSignal())) {
            queries.remove(id);
        } else if (metadata.hasSignal(Metadata.Signal.REPLAY)) {
            active.clear();
            replays.clear();
            queries.reset(stored());
        }
    }

    private void onReplay(Tuple tuple, String id, long since, boolean acked) {
        TaskReplay replay = replays.get(id);
        if (replay == null || since > replay.since()) {
            begin(tuple, id, since);
        } else if (since < replay.since()) {
            collector.fail(tuple);
        } else {
            switch (replay.next(acked, tuple.getSourceTask())) {
                case SEND -> send(tuple, id, replay);
                case FINISH -> {
                    LOG.info("Finished the replay to {}", id);
                    active.set(id, 0);
                    collector.fail(tuple);
                }
                case REFUSE -> collector.fail(tuple);
            }
        }
    }

    private void begin(Tuple tuple, String id, long since) {
        OptionalInt asking = task(id);
        if (asking.isEmpty()) {
            LOG.warn("Skipped a replay request of {}: the topology has no such filter or join task", id);
            collector.fail(tuple);
            return;
        }
        int task = asking.getAsInt();
        OptionalInt joinIndex = TaskIndexCaptureGrouping.index(context.getStormId(), task);
        List<Object> batches = joinIndex.isPresent() ? queries.of(joinIndex.getAsInt()) : queries.all();
        LOG.info("Starting a replay of {} batches to {}", batches.size(), id);
        TaskReplay replay = new TaskReplay(task, since, batches, tuple.getSourceTask());
        replays.put(id, replay);
        active.set(id, 1);
        created.increment(id);
        send(tuple, id, replay);
    }

    /** The task that an id like FilterBolt-5 names, if it is one of this topology; ids come from outside. */
    private OptionalInt task(String id) {
        for (String component : List.of(Streams.FILTER_COMPONENT, Streams.JOIN_COMPONENT)) {
            for (int task : context.getComponentTasks(component)) {
                if (Streams.taskName(component, task).equals(id)) {
                    return OptionalInt.of(task);
                }
            }
        }
        return OptionalInt.empty();
    }

    private void send(Tuple tuple, String id, TaskReplay replay) {
        collector.emitDirect(replay.task(), Streams.REPLAY_STREAM, tuple,
                             new Values(id, replay.since(), replay.index(), replay.batch()));
        collector.ack(tuple);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declareStream(Streams.REPLAY_STREAM,
                               new Fields(Streams.ID, Streams.TIMESTAMP, Streams.INDEX, Streams.BATCH));
        declarer.declareStream(Streams.CAPTURE_STREAM, new Fields());
    }
}
