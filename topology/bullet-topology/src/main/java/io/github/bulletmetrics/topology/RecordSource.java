package io.github.bulletmetrics.topology;

import com.yahoo.bullet.storm.BulletStormConfig;
import com.yahoo.bullet.storm.ComponentSettings;
import io.github.bulletmetrics.topology.dsl.DSLBolt;
import io.github.bulletmetrics.topology.dsl.DSLConnectorSpout;
import io.github.bulletmetrics.topology.dsl.DSLSpout;
import io.github.bulletmetrics.topology.source.GeneratorSpout;

import org.apache.storm.topology.IRichSpout;
import org.apache.storm.topology.TopologyBuilder;

import java.util.List;

/**
 * Adds what emits records, under the name {@link Streams#RECORD_COMPONENT}: with
 * {@code bullet.topology.dsl.spout.enable} the DSL spout, or with {@code bullet.topology.dsl.bolt.enable} too the DSL
 * bolt behind it; else the spout that {@code bullet.topology.bullet.spout.class.name} names, by its constructor that
 * takes a list of strings or else the one that takes nothing, as Bullet does it; without a name, the generator.
 */
public final class RecordSource {
    private final BulletStormConfig config;
    private final TopologyBuilder builder;

    private RecordSource(BulletStormConfig config, TopologyBuilder builder) {
        this.config = config;
        this.builder = builder;
    }

    /**
     * Adds the source's one or two components.
     *
     * @param config the topology's settings.
     * @param builder where to.
     * @throws IllegalArgumentException names the setting that is wrong and what to do.
     */
    public static void addTo(TopologyBuilder builder, BulletStormConfig config) {
        RecordSource source = new RecordSource(config, builder);
        if (source.is(BulletStormConfig.DSL_SPOUT_ENABLE)) {
            source.addDsl();
        } else {
            source.add(ComponentSettings.BULLET_SPOUT, Streams.RECORD_COMPONENT, source.spoutByName());
        }
    }

    private void addDsl() {
        boolean hasBolt = is(BulletStormConfig.DSL_BOLT_ENABLE);
        DSLSpout spout =
            is(BulletStormConfig.DSL_SPOUT_CONNECTOR_SPOUT_ENABLE) ? new DSLConnectorSpout(config)
            : new DSLSpout(config);
        add(ComponentSettings.DSL_SPOUT, hasBolt ? Streams.DATA_COMPONENT : Streams.RECORD_COMPONENT, spout);
        if (hasBolt) {
            ComponentSettings bolt = ComponentSettings.DSL_BOLT;
            Wiring.reserve(config, bolt, builder.setBolt(Streams.RECORD_COMPONENT, new DSLBolt(config), executors(bolt))
                .shuffleGrouping(Streams.DATA_COMPONENT));
        }
    }

    private void add(ComponentSettings component, String name, IRichSpout spout) {
        Wiring.reserve(config, component, builder.setSpout(name, spout, executors(component)));
    }

    private IRichSpout spoutByName() {
        String name = config.getAs(BulletStormConfig.BULLET_SPOUT_CLASS_NAME, String.class);
        if (name == null || name.equals(GeneratorSpout.class.getName())) {
            return new GeneratorSpout(config);
        }
        try {
            return make(Class.forName(name), config.getAs(BulletStormConfig.BULLET_SPOUT_ARGS, List.class));
        } catch (ReflectiveOperationException | ClassCastException e) {
            throw new IllegalArgumentException(BulletStormConfig.BULLET_SPOUT_CLASS_NAME
                    + " must name an IRichSpout with a "
                + "public constructor that takes a List or nothing, but is " + name, e);
        }
    }

    private static IRichSpout make(Class<?> type, List<?> arguments) throws ReflectiveOperationException {
        try {
            return (IRichSpout) type.getConstructor(List.class).newInstance(arguments);
        } catch (NoSuchMethodException e) {
            return (IRichSpout) type.getConstructor().newInstance();
        }
    }

    private int executors(ComponentSettings component) {
        return config.getAs(component.parallelism(), Integer.class);
    }

    private boolean is(String flag) {
        return config.getAs(flag, Boolean.class);
    }
}
