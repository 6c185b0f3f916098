package io.github.bulletmetrics.topology.localstorm;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WorkerTest {
    @ParameterizedTest
    @CsvSource({"wc-1-1795208230,wc", "my-wc-2-12-1795208230,my-wc-2", "odd,odd"})
    void takesTheNameFromTheId(String id, String name) {
        assertThat(Worker.topologyName(id)).isEqualTo(name);
    }

    @Test
    void isWrittenUnderTheNamesThatCallersRead() {
        assertThat(Json.write(new Worker("wc-1-17", 6700, 42, 1795208232660L).json())).isEqualTo(
            "{\"topology_id\":\"wc-1-17\",\"topology\":\"wc\",\"port\":6700,\"pid\":42,\"started_ms\":1795208232660}");
    }
}
