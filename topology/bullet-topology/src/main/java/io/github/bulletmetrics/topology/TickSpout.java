package io.github.bulletmetrics.topology;

import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;

import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;

/** The topology's clock: emits (id, tick), not anchored, to every filter and join bolt at a fixed interval. */
public final class TickSpout extends BaseRichSpout {
    private static final long serialVersionUID = 1L;
    /** Half of the shortest interval: fine enough for it, and a spout that waits costs little. */
    private static final long NAP_MS = BulletStormConfig.TICK_INTERVAL_MINIMUM / 2;

    private final int intervalMs;
    private transient SpoutOutputCollector collector;
    private transient int id;
    private transient long tick;
    private transient long lastTickMs;

    /**
     * Reads the tick interval.
     *
     * @param config the topology's settings.
     */
    public TickSpout(BulletStormConfig config) {
        intervalMs = config.getAs(BulletStormConfig.TICK_SPOUT_INTERVAL, Integer.class);
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        this.collector = collector;
        id = ThreadLocalRandom.current().nextInt();
        lastTickMs = System.currentTimeMillis();
    }

    @Override
    public void nextTuple() {
        long now = System.currentTimeMillis();
        if (now - lastTickMs < intervalMs) {
            Utils.sleep(NAP_MS);
            return;
        }
        lastTickMs = now;
        collector.emit(new Values(id, ++tick));
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields(Streams.ID, Streams.TICK));
    }
}
