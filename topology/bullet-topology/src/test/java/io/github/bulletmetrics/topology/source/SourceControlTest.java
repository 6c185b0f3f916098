package io.github.bulletmetrics.topology.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.List;

class SourceControlTest {
    @Test
    void readsWhatItWrites() {
        SourceControl control = new SourceControl(1234.5, List.of(new Probe("a", 1), new Probe("b.2", 0.25)), 9);
        assertThat(SourceControl.fromJson(control.toJson())).isEqualTo(control);
        assertThat(SourceControl.fromJson("{\"records_per_second\": 5}")).isEqualTo(new SourceControl(5, List.of(), 0));
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "", "null", "[]", "7", "{", "{}", "{\"records_per_second\": null}", "{\"records_per_second\": \"many\"}",
        "{\"records_per_second\": -1}", "{\"records_per_second\": 1e300}", "{\"records_per_second\": NaN}",
        "{\"records_per_second\": 1, \"rate\": 2}", "{\"records_per_second\": 1, \"probes\": {}}",
        "{\"records_per_second\": 1, \"probes\": [1]}", "{\"records_per_second\": 1, \"probes\": [{\"value\": \"a\"}]}",
        "{\"records_per_second\": 1, \"probes\": [{\"value\": \"none\", \"per_second\": 1}]}",
        "{\"records_per_second\": 1, \"probes\": [{\"value\": \"it's\", \"per_second\": 1}]}",
        "{\"records_per_second\": 1, \"probes\": [{\"value\": \"a\", \"per_second\": 1}, {\"value\": \"a\", \"per_second\": 2}]}",
    })
    void refusesAnythingElse(String text) {
        assertThatThrownBy(() -> SourceControl.fromJson(text)).isInstanceOf(IllegalArgumentException.class);
    }
}
