package io.github.bulletmetrics.topology.kafkatests;

import com.yahoo.bullet.record.BulletRecord;

import org.apache.storm.hooks.BaseTaskHook;
import org.apache.storm.hooks.info.BoltExecuteInfo;
import org.apache.storm.task.TopologyContext;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A task hook that takes down every record that a filter bolt of this process has seen, by its id. */
public final class SeenRecords extends BaseTaskHook {
    /** How often each record came, by its record_id. */
    static final Map<String, Integer> TIMES = new ConcurrentHashMap<>();
    /** Records whose broker's timestamp is not the time that they were written with. */
    static final AtomicLong WRONG_TIMES = new AtomicLong();

    private boolean filters;

    /** Records of a producer with this seed, each counted once. */
    static long ofSeed(int seed) {
        return TIMES.keySet().stream().filter(id -> id.startsWith(seed + "-")).count();
    }

    @Override
    public void prepare(Map<String, Object> conf, TopologyContext context) {
        filters = context.getThisComponentId().equals("FilterBolt");
    }

    @Override
    public void boltExecute(BoltExecuteInfo info) {
        if (filters && info.tuple.getSourceComponent().equals("DataSource")) {
            BulletRecord<?> record = (BulletRecord<?>) info.tuple.getValue(0);
            TIMES.merge((String) record.typedGet("record_id").getValue(), 1, Integer::sum);
            if (!record.typedGet("kafka_received_ms").getValue().equals(record.typedGet("event_time_ms").getValue())) {
                WRONG_TIMES.incrementAndGet();
            }
        }
    }
}
