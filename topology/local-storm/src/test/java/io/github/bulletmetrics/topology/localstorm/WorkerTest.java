package io.github.bulletmetrics.topology.localstorm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.topology.localprocess.Json;
import io.github.bulletmetrics.topology.localprocess.ProcessEntry;
import java.util.List;
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
    void isKnownFromTheLogWriterAroundItAndFromTheDaemons() {
        String worker = "org.apache.storm.daemon.worker.Worker";
        assertThat(Worker.isWorker(new ProcessEntry(7, 1, List.of("java", worker, "wc-1-17", "6700")))).isTrue();
        assertThat(Worker.isWorker(new ProcessEntry(7, 1,
                List.of("java", "-Dstorm.id=wc-1-17", "org.apache.storm.LogWriter", "java",
            "-server", worker, "wc-1-17")))).isFalse();
        assertThat(Worker.isWorker(
                new ProcessEntry(7, 1, List.of("java", "org.apache.storm.daemon.supervisor.Supervisor")))).isFalse();
    }

    @Test
    void isWrittenUnderTheNamesThatCallersRead() {
        assertThat(Json.write(new Worker("wc-1-17", 6700, 42, 1795208232660L).json())).isEqualTo(
            "{\"topology_id\":\"wc-1-17\",\"topology\":\"wc\",\"port\":6700,\"pid\":42,\"started_ms\":1795208232660}");
    }
}
