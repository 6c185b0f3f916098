package io.github.bulletmetrics.topology.localstorm.wordcount;

import java.util.Map;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Values;
import org.apache.storm.utils.Utils;

/** Emits a hundred words over and over, some hundreds a second. */
public final class WordSpout extends BaseRichSpout {
    private transient SpoutOutputCollector collector;
    private int next;

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector out) {
        this.collector = out;
    }

    @Override
    public void nextTuple() {
        collector.emit(new Values("word-" + next));
        next = (next + 1) % 100;
        Utils.sleep(5);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        declarer.declare(new Fields("word"));
    }
}
