package io.github.bulletmetrics.topology.localstorm;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.bulletmetrics.topology.localprocess.Json;
import io.github.bulletmetrics.topology.localstorm.loopback.LoopbackTransportPlugin;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.yaml.snakeyaml.Yaml;

/** What is written is read back by the YAML parser that Storm has. */
class StormYamlTest {
    private static final Endpoints ENDPOINTS = new Endpoints(2181, 6627, 6628, List.of(6700, 6701), null);

    @Test
    void writesWhatYamlReadsBack() {
        Map<String, Object> settings = Json.object("text", "a: \"b\" \\ #c\n\tü\u0001", "number", 7, "flag", true,
                "none", null,
            "list", List.of(1, "two"), "map", Map.of("k", 1.5), "looks like a number", "12");
        assertThat(read(StormYaml.render(settings))).isEqualTo(settings);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "12       | 12",
        "-1       | -1",
        "true     | true",
        "[6700]   | [6700]",
        "{\"a\":1}| {a=1}",
        "\"12\"   | 12",
        "a: b     | a: b",
        "-Xmx1g   | -Xmx1g",
        "12m      | 12m",
    })
    void readsAnOptionAsStormDoes(String text, String meaning) {
        Object value = read(StormYaml.render(Json.object("k", StormYaml.parse(text)))).get("k");
        assertThat(value).hasToString(meaning);
        assertThat(value instanceof String).isEqualTo(Arrays.asList("\"12\"", "a: b", "-Xmx1g", "12m").contains(text));
    }

    @Test
    void setsAClusterUp() throws IOException {
        Map<String, Object> yaml =
                read(StormYaml.render(settings(Map.of("topology.workers", "3", "nimbus.monitor.freq.secs", "9"))
            .storm(ClusterDirectory.at(Path.of("/c d")), ENDPOINTS)));
        assertThat(yaml).containsEntry("storm.local.dir", "/c d/storm-local")
            .containsEntry("storm.zookeeper.servers", List.of("127.0.0.1"))
            .containsEntry("storm.zookeeper.port", 2181)
            .containsEntry("nimbus.thrift.port", 6627)
            .containsEntry("supervisor.thrift.port", 6628)
            .containsEntry("supervisor.slots.ports", List.of(6700, 6701))
            .containsEntry("topology.workers", 3)
            .containsEntry("nimbus.monitor.freq.secs", 9)
            .containsEntry("storm.thrift.transport", LoopbackTransportPlugin.class.getName());
        assertThat((String) yaml.get("worker.childopts")).startsWith("-Dlocal.storm.dir=/c=20d -Xmx99m ")
                .endsWith(" -Da=b");
    }

    @Test
    void namesTheDrpcServerToTopologies() throws IOException {
        Endpoints withDrpc = new Endpoints(2181, 6627, 6628, List.of(6700), new DrpcServer(3772, 3773, 3774, 200));
        assertThat(read(StormYaml.render(settings(Map.of()).storm(ClusterDirectory.at(Path.of("/c")), withDrpc))))
            .containsEntry("drpc.servers", List.of("127.0.0.1")).containsEntry("drpc.invocations.port", 3773)
            .containsEntry("drpc.http.port", 3774);
        assertThat(settings(Map.of()).storm(ClusterDirectory.at(Path.of("/c")), ENDPOINTS))
                .doesNotContainKey("drpc.servers");
    }

    @Test
    void refusesWhatTheLauncherMustSetItself() {
        assertThat(settings(Map.of("topology.workers", "3", "worker.childopts", "-Xmx1g", "nimbus.thrift.port", "1"))
            .refusedOverrides()).containsExactly("nimbus.thrift.port", "worker.childopts");
    }

    private static ClusterSettings settings(Map<String, String> overrides) {
        return new ClusterSettings(2, List.of(), 99, "-Da=b", overrides);
    }

    private static Map<String, Object> read(String yaml) {
        return new Yaml().load(yaml);
    }
}
