package io.github.bulletmetrics.topology.dsl;

import com.yahoo.bullet.common.BulletConfig;

import org.apache.storm.ICredentialsListener;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichSpout;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A spout to be wrapped, which remembers what was called. */
public final class ListSpout extends BaseRichSpout implements ICredentialsListener {
    private static final long serialVersionUID = 1L;
    final List<String> calls = new ArrayList<>();

    public ListSpout(BulletConfig config) {
        calls.add("made with " + config.getClass().getSimpleName());
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        calls.add("open");
    }

    @Override
    public void activate() {
        calls.add("activate");
    }

    @Override
    public void deactivate() {
        calls.add("deactivate");
    }

    @Override
    public void close() {
        calls.add("close");
    }

    @Override
    public void nextTuple() {
        calls.add("nextTuple");
    }

    @Override
    public void ack(Object id) {
        calls.add("ack " + id);
    }

    @Override
    public void fail(Object id) {
        calls.add("fail " + id);
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return Map.of("of.the.wrapped.spout", 7);
    }

    @Override
    public void setCredentials(Map<String, String> credentials) {
        calls.add("credentials " + credentials);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        calls.add("declare");
    }
}
