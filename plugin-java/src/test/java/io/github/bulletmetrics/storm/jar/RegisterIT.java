package io.github.bulletmetrics.storm.jar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The finished jar's register() methods, called as each family of Bullet calls them: by reflection, where the other's
 * type is not.
 */
class RegisterIT {
    private static final String EARLY_CLASS = "io.github.bulletmetrics.storm.EarlyBulletMetricsConsumer";
    private static final String LATE_CLASS = "io.github.bulletmetrics.storm.BulletMetricsConsumer";
    private static final String EARLY_TYPE = "com.yahoo.bullet.BulletConfig";
    private static final String LATE_TYPE = "com.yahoo.bullet.storm.BulletStormConfig";
    /** Where this JVM has the types from, and what BulletStormConfig is made of. */
    private static final List<String> EARLY_BULLET = List.of("early-bullet-config");
    private static final List<String> LATE_BULLET =
            List.of("bullet-storm-config", String.join(File.separator, "", "com", "yahoo", "bullet", ""), "snakeyaml",
            "lombok", "commons-lang3", "gson");

    @Test
    void bulletUpTo043RegistersTheConsumer() throws Exception {
        assertRegistered(run(EARLY_BULLET, EARLY_CLASS, EARLY_TYPE, LATE_TYPE));
    }

    @Test
    void bulletFrom050OnRegistersTheConsumer() throws Exception {
        assertRegistered(run(LATE_BULLET, LATE_CLASS, LATE_TYPE, EARLY_TYPE));
    }

    /** Why there are two classes: Bullet catches exceptions, and this is an error. */
    @Test
    void withTheClassForTheOtherBulletTheSubmissionFails() {
        assertThatThrownBy(() -> run(EARLY_BULLET, LATE_CLASS, EARLY_TYPE, LATE_TYPE))
                .hasMessageContaining("exit code 1")
                .hasMessageContaining("NoClassDefFoundError: com/yahoo/bullet/storm/BulletStormConfig");
        assertThatThrownBy(() -> run(LATE_BULLET, EARLY_CLASS, LATE_TYPE, EARLY_TYPE))
                .hasMessageContaining("exit code 1")
                .hasMessageContaining("NoClassDefFoundError: com/yahoo/bullet/BulletConfig");
    }

    private static String run(List<String> bullet, String... arguments) throws Exception {
        return PluginJar.run(RegisterMain.class, bullet, () -> true, arguments);
    }

    private static void assertRegistered(String printed) {
        assertThat(printed).contains("registered {", "class=io.github.bulletmetrics.storm.StormMetricsConsumer",
                "bullet.topology.metrics.collector.address=[collector.example:4320]",
                "bullet-metrics.sampler=io.github.bulletmetrics.storm.WorkerSampler",
                "topology.enable.v2.metrics.tick=true", "made io.github.bulletmetrics.storm.StormMetricsConsumer");
    }
}
