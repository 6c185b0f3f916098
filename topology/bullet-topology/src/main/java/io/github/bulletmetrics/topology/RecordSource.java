package io.github.bulletmetrics.topology;

import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.source.GeneratorSpout;

import org.apache.storm.topology.IRichSpout;

import java.util.List;

/**
 * Makes the spout that emits records: the one that {@code bullet.topology.bullet.spout.class.name} names, by its
 * constructor that takes a list of strings or else the one that takes nothing, as Bullet does it; without a name, the
 * generator.
 */
final class RecordSource {
    private RecordSource() {
    }

    static IRichSpout spout(BulletStormConfig config) {
        if (config.getAs(BulletStormConfig.DSL_SPOUT_ENABLE, Boolean.class)) {
            throw new IllegalArgumentException(
                BulletStormConfig.DSL_SPOUT_ENABLE + " must be false: this version has no DSL spout yet");
        }
        String name = config.getAs(BulletStormConfig.BULLET_SPOUT_CLASS_NAME, String.class);
        if (name == null || name.equals(GeneratorSpout.class.getName())) {
            return new GeneratorSpout(config);
        }
        try {
            return byName(Class.forName(name), config.getAs(BulletStormConfig.BULLET_SPOUT_ARGS, List.class));
        } catch (ReflectiveOperationException | ClassCastException e) {
            throw new IllegalArgumentException(BulletStormConfig.BULLET_SPOUT_CLASS_NAME + " must name an IRichSpout with a "
                + "public constructor that takes a List or nothing, but is " + name, e);
        }
    }

    private static IRichSpout byName(Class<?> type, List<?> arguments) throws ReflectiveOperationException {
        try {
            return (IRichSpout) type.getConstructor(List.class).newInstance(arguments);
        } catch (NoSuchMethodException e) {
            return (IRichSpout) type.getConstructor().newInstance();
        }
    }
}
