package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.Config;
import org.junit.jupiter.api.Test;

import java.util.List;

class MetricsRegistrationTest {
    /** As it should be. */
    public static final class Good {
        public static void register(Config storm, BulletStormConfig bullet) {
            storm.put("registered.for", bullet.get(BulletStormConfig.TOPOLOGY_NAME));
            storm.put("set.by.both", "consumer");
        }
    }

    /** Its arguments are the wrong way round. */
    public static final class WrongSignature {
        public static void register(BulletStormConfig bullet, Config storm) {
            storm.put("wrong", true);
        }
    }

    /** Not static. */
    public static final class NotStatic {
        public void register(Config storm, BulletStormConfig bullet) {
            storm.put("wrong", true);
        }
    }

    /** Fails. */
    public static final class Failing {
        public static void register(Config storm, BulletStormConfig bullet) {
            throw new IllegalStateException("no address");
        }
    }

    @Test
    void aClassThatCannotRegisterIsLeftOut() {
        BulletStormConfig config = config("no.such.Class", WrongSignature.class.getName(), NotStatic.class.getName(),
                                          Failing.class.getName(), Good.class.getName());
        Config storm = new Config();

        assertThat(MetricsRegistration.register(config, storm)).containsExactly(Good.class.getName());
        assertThat(storm).containsEntry("registered.for", "bullet-topology").doesNotContainKey("wrong");
    }

    @Test
    void theUsersStormSettingsHaveTheLastWord() {
        BulletStormConfig config = config(Good.class.getName());
        config.set("bullet.topology.custom.set.by.both", "user");

        assertThat(Wiring.stormConfig(config)).containsEntry("set.by.both", "user")
            .containsEntry(Config.TOPOLOGY_ENABLE_V2_METRICS_TICK, true)
            .containsEntry(Config.TOPOLOGY_FALL_BACK_ON_JAVA_SERIALIZATION, true);
    }

    @Test
    void withoutMetricsNothingIsRegistered() {
        BulletStormConfig config = config(Good.class.getName());
        config.set(BulletStormConfig.TOPOLOGY_METRICS_ENABLE, false);

        assertThat(Wiring.stormConfig(config)).doesNotContainKey("registered.for")
            .doesNotContainKey(Config.TOPOLOGY_ENABLE_V2_METRICS_TICK);
    }

    private static BulletStormConfig config(String... classes) {
        BulletStormConfig config = new BulletStormConfig();
        config.set(BulletStormConfig.TOPOLOGY_METRICS_ENABLE, true);
        config.set(BulletStormConfig.TOPOLOGY_METRICS_CLASSES, List.of(classes));
        return config.validate();
    }
}
