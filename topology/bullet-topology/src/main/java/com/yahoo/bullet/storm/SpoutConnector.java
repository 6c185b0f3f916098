package com.yahoo.bullet.storm;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.dsl.connector.BulletConnector;

import org.apache.storm.ICredentialsListener;
import org.apache.storm.spout.SpoutOutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.IRichSpout;
import org.apache.storm.topology.OutputFieldsDeclarer;

import java.util.Map;

/**
 * A connector of bullet-dsl around a Storm spout: users extend it, say in {@code read()} how what their spout emits
 * becomes a list of messages, and have it read by the DSL spout. It stands under this name since user classes compile
 * against it; the public surface is that of bullet-storm 1.3.
 *
 * <p>It lives in one of two ways. With {@code bullet.topology.dsl.spout.connector.as.spout.enable} the DSL spout hands
 * it Storm's own calls ({@link #open}, {@link #activate}, {@link #ack}, ...) and never calls {@link #initialize()}. As
 * a plain connector it is opened by {@link #initialize()} with what the three setters gave it. Every call goes to the
 * wrapped spout, credentials only where that is an {@link ICredentialsListener}.
 *
 * @param <T> the wrapped spout.
 */
public abstract class SpoutConnector<T extends IRichSpout> extends BulletConnector implements IRichSpout,
        ICredentialsListener {
    private static final long serialVersionUID = 1L;

    /** The wrapped spout. */
    protected T spout;
    /** Storm's configuration of the topology; from {@link #open} or its setter. */
    protected Map<String, Object> stormConfiguration;
    /** The task's context; from {@link #open} or its setter. */
    protected transient TopologyContext context;
    /** Where the wrapped spout emits; from {@link #open} or its setter. */
    protected transient SpoutOutputCollector outputCollector;

    /**
     * Makes the wrapped spout with {@link #getSpout()}.
     *
     * @param bulletConfig the topology's settings.
     */
    public SpoutConnector(BulletConfig bulletConfig) {
        super(bulletConfig);
        spout = getSpout();
    }

    /**
     * Makes the spout to wrap: the one that {@link BulletStormConfig#DSL_SPOUT_CONNECTOR_CLASS_NAME} names, by its
     * public constructor that takes a {@link BulletConfig}. To be overridden where that does not do.
     *
     * @return a new spout.
     * @throws RuntimeException when the class cannot be made.
     */
    protected T getSpout() {
        return config.loadConfiguredClass(BulletStormConfig.DSL_SPOUT_CONNECTOR_CLASS_NAME);
    }

    /** Opens and activates the wrapped spout. */
    @Override
    public void initialize() {
        spout.open(stormConfiguration, context, outputCollector);
        activate();
    }

    /** Deactivates the wrapped spout; as in Bullet, its own close() is not called. */
    @Override
    public void close() {
        deactivate();
    }

    @Override
    public void open(Map<String, Object> conf, TopologyContext taskContext, SpoutOutputCollector collector) {
        setStormConfiguration(conf);
        setContext(taskContext);
        setOutputCollector(collector);
        spout.open(conf, taskContext, collector);
    }

    @Override
    public void activate() {
        spout.activate();
    }

    @Override
    public void deactivate() {
        spout.deactivate();
    }

    @Override
    public void nextTuple() {
        spout.nextTuple();
    }

    @Override
    public void ack(Object id) {
        spout.ack(id);
    }

    @Override
    public void fail(Object id) {
        spout.fail(id);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        spout.declareOutputFields(declarer);
    }

    @Override
    public Map<String, Object> getComponentConfiguration() {
        return spout.getComponentConfiguration();
    }

    @Override
    public void setCredentials(Map<String, String> credentials) {
        if (spout instanceof ICredentialsListener) {
            ((ICredentialsListener) spout).setCredentials(credentials);
        }
    }

    /**
     * Gives {@link #initialize()} its configuration.
     *
     * @param stormConfiguration Storm's configuration of the topology.
     */
    public void setStormConfiguration(Map<String, Object> stormConfiguration) {
        this.stormConfiguration = stormConfiguration;
    }

    /**
     * Gives {@link #initialize()} its context.
     *
     * @param context the task's context.
     */
    public void setContext(TopologyContext context) {
        this.context = context;
    }

    /**
     * Gives {@link #initialize()} its collector.
     *
     * @param outputCollector where the wrapped spout emits.
     */
    public void setOutputCollector(SpoutOutputCollector outputCollector) {
        this.outputCollector = outputCollector;
    }
}
