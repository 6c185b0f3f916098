package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ArgumentTest {
    private static final List<String> A = List.of("a:1");

    @Test
    void aMapAndAListOfMapsAreRead() {
        assertRead(null);
        assertRead(Map.of());
        assertRead(Map.of(Settings.ADDRESS, A), Settings.ADDRESS, A);
        assertRead(List.of(Map.of(Settings.ADDRESS, A)), Settings.ADDRESS, A);
        assertRead(List.of(Map.of(Settings.ADDRESS, A), Map.of(Settings.POLICY, "spread")), Settings.ADDRESS, A,
                Settings.POLICY, "spread");
        assertRead(Map.of("address", A, "tls.enabled", true), Settings.ADDRESS, A, Settings.TLS_ENABLED, true);
        assertRead(Arrays.asList(Map.of("address", A), null), Settings.ADDRESS, A);
    }

    @Test
    void whatIsNotReadIsNamed() {
        assertNamed("a:1", "'a:1' is not a map");
        assertNamed(7, "'7' is not a map");
        assertNamed(List.of("a:1"), "'a:1' is not a map");
        assertNamed(List.of(List.of()), "'[]' is not a map");
        assertUnknown(Map.of("adress", A), "adress");
        assertUnknown(Map.of(Settings.PREFIX + "adress", A), Settings.PREFIX + "adress");
        assertUnknown(Map.of("bullet.topology.metrics.collector", Map.of("address", A)),
                "bullet.topology.metrics.collector");
        assertUnknown(Collections.singletonMap(null, A), "null");
        assertNamed(Collections.singletonMap(Settings.ADDRESS, null), Settings.ADDRESS + " has no value");
        assertNamed(List.of(Map.of("address", A), Map.of(Settings.ADDRESS, List.of("b:1"))),
                Settings.ADDRESS + " is set twice");
    }

    private static void assertRead(Object argument, Object... settings) {
        Argument read = new Argument(argument);
        assertThat(read.unknown()).isEmpty();
        assertThat(read.ignored()).isEmpty();
        for (int i = 0; i < settings.length; i += 2) {
            assertThat(read.get((String) settings[i])).isEqualTo(settings[i + 1]);
        }
        assertThat(read.size()).isEqualTo(settings.length / 2);
    }

    private static void assertUnknown(Object argument, String name) {
        Argument read = new Argument(argument);
        assertThat(read.unknown()).containsExactly(name);
        assertThat(read.size()).isZero();
    }

    private static void assertNamed(Object argument, String named) {
        assertThat(new Argument(argument).ignored()).hasSize(1).first().asString().contains(named);
    }
}
