package io.github.bulletmetrics.topology.dsl;

import com.yahoo.bullet.storm.BulletStormConfig;
import com.yahoo.bullet.storm.SpoutConnector;

import org.apache.storm.ICredentialsListener;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;

import java.util.Map;

/**
 * A DSL spout whose connector wraps a Storm spout ({@link SpoutConnector}): what Storm calls on this one goes to that
 * one too, except nextTuple(), in whose place stands the connector's read(). The connector's initialize() is not
 * called, as in Bullet.
 */
public final class DSLConnectorSpout extends DSLSpout implements ICredentialsListener {
    private static final long serialVersionUID = 1L;

    /**
     * Makes the connector, which makes its spout, and what {@link DSLSpout} makes.
     *
     * @param config the topology's settings.
     * @throws IllegalArgumentException names the setting that is wrong and what to do.
     */
    public DSLConnectorSpout(BulletStormConfig config) {
        super(config);
    }

    private SpoutConnector<?> spout() {
        return (SpoutConnector<?>) connector();
    }

    @Override
    void start(Map<String, Object> conf, TopologyContext context, SpoutOutputCollector collector) {
        spout().open(conf, context, collector);
    }

    @Override
    public void activate() {
        super.activate();
        spout().activate();
    }

    @Override
    public void deactivate() {
        super.deactivate();
        spout().deactivate();
    }

    @Override
    public void ack(Object id) {
        spout().ack(id);
    }

    @Override
    public void fail(Object id) {
        spout().fail(id);
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return spout().getComponentConfiguration();
    }

    @Override
    public void setCredentials(Map<String, String> credentials) {
        spout().setCredentials(credentials);
    }
}
