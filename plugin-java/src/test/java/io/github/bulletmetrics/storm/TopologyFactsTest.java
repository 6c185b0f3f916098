package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.storm.collector.TestTopology;
import io.github.bulletmetrics.storm.proto.v1.ComponentInfo;
import io.github.bulletmetrics.storm.proto.v1.ComponentInput;
import io.github.bulletmetrics.storm.proto.v1.ComponentKind;
import io.github.bulletmetrics.storm.proto.v1.TopologyInfo;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class TopologyFactsTest {
    private final Map<String, Object> conf = TestTopology.conf();

    @Test
    void aComponentReportsWhatItIsAndWhatItReads() {
        ComponentInfo filter = component("FilterBolt");
        assertThat(filter.getKind()).isEqualTo(ComponentKind.COMPONENT_KIND_BOLT);
        assertThat(filter.getParallelism()).isEqualTo(2);
        assertThat(filter.getTasksList()).containsExactly(3, 4, 5, 6);
        assertThat(filter.getInputsList())
                .extracting(ComponentInput::getComponent, ComponentInput::getStream, ComponentInput::getGrouping,
                ComponentInput::getFieldsList)
                .containsExactly(tuple("DataSource", "default", "shuffle", List.of()),
                tuple("QuerySpout", "default", "all", List.of()),
                        tuple("QuerySpout", "metadata", "fields", List.of("id")),
                        tuple("QuerySpout", "totals", "global", List.of()));
        ComponentInfo acker = component("__acker");
        assertThat(acker.getKind()).isEqualTo(ComponentKind.COMPONENT_KIND_BOLT);
        assertThat(acker.getParallelism()).isEqualTo(2);
        assertThat(acker.getTasksList()).containsExactly(7, 8);
        assertThat(component("__system").getTasksList()).containsExactly(-1);
        ComponentInfo source = component("DataSource");
        assertThat(source.getKind()).isEqualTo(ComponentKind.COMPONENT_KIND_SPOUT);
        assertThat(source.getInputsList()).isEmpty();
    }

    @Test
    void resourcesAreTheComponentsOwnElseTheTopologysElseNone() {
        assertThat(resources("FilterBolt")).containsExactly(150.5, 512.0, 64.0);
        assertThat(resources("DataSource")).containsExactly(0.0, 0.0, 0.0);
        conf.put("topology.component.cpu.pcore.percent", 10.0);
        conf.put("topology.component.resources.onheap.memory.mb", 128.0);
        conf.put("topology.component.resources.offheap.memory.mb", 0);
        conf.put("topology.acker.cpu.pcore.percent", 20.0);
        conf.put("topology.acker.resources.onheap.memory.mb", 96);
        assertThat(resources("FilterBolt")).containsExactly(150.5, 512.0, 64.0);
        assertThat(resources("DataSource")).containsExactly(10.0, 128.0, 0.0);
        assertThat(resources("__acker")).containsExactly(20.0, 96.0, 0.0);
        assertThat(resources("__system")).containsExactly(0.0, 0.0, 0.0);
    }

    @Test
    void everySettingOfBulletsComponentsIsReported() {
        Map<String, Object> defaults = new TreeMap<>(new BulletStormConfig().getAll(java.util.Optional.empty()));
        defaults.keySet().removeIf(
                name -> !name.matches("bullet\\.topology\\..*(\\.parallelism|\\.cpu\\.load|heap\\.load)"));
        assertThat(defaults).hasSize(39);
        assertThat(ReportedSettings.NAMES).containsAll(defaults.keySet()).doesNotHaveDuplicates();
    }

    @Test
    void ofTheWorkersOptionsOnlyFlagsAreReportedAndOfSecretsNothing() {
        conf.put("worker.childopts", "-Xmx768m -Dpassword=s3cret -javaagent:x.jar=key=s3cret");
        conf.put("topology.worker.childopts", List.of("-XX:+UseG1GC", "-Dtoken=s3cret"));
        conf.put("topology.worker.gc.childopts", "-Dtoken=s3cret");
        conf.put("topology.max.spout.pending", 30);
        conf.put("bullet.dsl.connector.kafka.max.poll.records", 500);
        conf.put("bullet.dsl.connector.kafka.sasl.jaas.config", "s3cret");
        conf.put("bullet.topology.bullet.spout.args", List.of("s3cret"));
        TopologyInfo info = info();
        assertThat(info.getSettingsMap()).containsOnly(Map.entry("worker.childopts", "-Xmx768m"),
                Map.entry("topology.worker.childopts", "-XX:+UseG1GC"),
                Map.entry("topology.max.spout.pending", "30"), Map.entry("bullet.dsl.connector.kafka.max.poll.records",
                "500"));
        assertThat(info.toString()).doesNotContain("s3cret");
    }

    @Test
    void howManyReportsStormKeepsIsReadFromTheConsumersEntry() {
        assertThat(info().getSettingsMap()).doesNotContainKey("max.retain.metric.tuples");
        Map<String, Object> ours = new TreeMap<>(Map.of("class", "io.github.bulletmetrics.storm.StormMetricsConsumer"));
        conf.put("topology.metrics.consumer.register", List.of(Map.of("class", "other", "max.retain.metric.tuples", 5),
                ours));
        assertThat(info().getSettingsMap()).as("Storm's default").containsEntry("max.retain.metric.tuples", "100");
        ours.put("max.retain.metric.tuples", 12_345L);
        assertThat(info().getSettingsMap()).containsEntry("max.retain.metric.tuples", "12345");
    }

    private TopologyInfo info() {
        return TopologyFacts.info(conf, conf::get, TestTopology.context());
    }

    private ComponentInfo component(String name) {
        return info().getComponentsList().stream().filter(component -> component.getName().equals(name)).findFirst()
                .orElseThrow();
    }

    private List<Double> resources(String name) {
        ComponentInfo component = component(name);
        return List.of(component.getCpuPercent(), component.getOnHeapMib(), component.getOffHeapMib());
    }
}
