package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Json;
import io.github.bulletmetrics.topology.localprocess.Marker;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * What the caller of {@code up} may choose, and the Storm settings that follow from it.
 *
 * @param workerHeapMib the heap limit of each worker, MiB
 * @param workerOptions more JVM options of each worker, split at blanks by Storm; may be empty
 * @param overrides Storm settings by key, as given on the command line
 */
record ClusterSettings(int slots, List<Path> extlib, int workerHeapMib, String workerOptions,
        Map<String, String> overrides) {
    /** Storm's own default (worker.heap.memory.mb). */
    static final int DEFAULT_WORKER_HEAP_MIB = 768;

    private static final String LOOPBACK_TRANSPORT =
        "io.github.bulletmetrics.topology.localstorm.loopback.LoopbackTransportPlugin";

    /** The overridden keys that the launcher has to set itself, so that what it reports about the cluster is true. */
    Set<String> refusedOverrides() {
        Set<String> refused = new TreeSet<>(overrides.keySet());
        refused.retainAll(owned(Path.of("/"), new Endpoints(0, 0, 0, List.of(), new DrpcServer(0, 0, 0, 0))).keySet());
        return refused;
    }

    /** {@code storm.yaml}, one for all. */
    Map<String, Object> storm(ClusterDirectory directory, Endpoints endpoints) {
        Map<String, Object> settings = new LinkedHashMap<>(tuned());
        overrides.forEach((key, value) -> settings.put(key, StormYaml.parse(value)));
        settings.putAll(owned(directory.path(), endpoints));
        settings.put("worker.childopts", workerChildOptions(directory.marker()));
        return settings;
    }

    private String workerChildOptions(Marker marker) {
        return (marker.argument() + " -Xmx" + workerHeapMib
                + "m -XX:+ExitOnOutOfMemoryError -Djava.net.preferIPv4Stack=true "
            + workerOptions).trim();
    }

    private static Map<String, Object> owned(Path path, Endpoints endpoints) {
        Map<String, Object> owned = Json.object(
            "storm.local.dir", path.resolve("storm-local").toString(),
            "storm.local.hostname", Endpoints.HOST,
            "storm.zookeeper.servers", List.of(Endpoints.HOST),
            "storm.zookeeper.port", endpoints.zookeeperPort(),
            "nimbus.seeds", List.of(Endpoints.HOST),
            "nimbus.thrift.port", endpoints.nimbusPort(),
            "supervisor.thrift.port", endpoints.supervisorPort(),
            "supervisor.slots.ports", endpoints.slots(),
            "storm.thrift.transport", LOOPBACK_TRANSPORT,
            "worker.childopts", "");
        if (endpoints.drpc() != null) {
            owned.putAll(Json.object(
                "drpc.servers", List.of(Endpoints.HOST),
                "drpc.port", endpoints.drpc().port(),
                "drpc.invocations.port", endpoints.drpc().invocationsPort(),
                "drpc.http.port", endpoints.drpc().httpPort()));
        }
        return owned;
    }

    /** Defaults of Storm made for a fleet, and what suits one machine whose user waits. Overrides replace them. */
    private static Map<String, Object> tuned() {
        return Json.object(
            // A killed worker is seen, and a new topology scheduled, within about a second.
            "supervisor.monitor.frequency.secs", 1,
            "supervisor.heartbeat.frequency.secs", 1,
            "nimbus.monitor.freq.secs", 1,
            "task.heartbeat.frequency.secs", 1,
            // Workers get a moment to clean up, and no more: stopping the cluster has 20 s in all.
            "supervisor.worker.shutdown.sleep.secs", 3,
            // The parts start at the same time and look for one another often rather than long.
            "storm.zookeeper.retry.interval", 250,
            "storm.zookeeper.retry.times", 20,
            "storm.nimbus.retry.interval.millis", 250,
            "storm.nimbus.retry.intervalceiling.millis", 1000,
            "storm.nimbus.retry.times", 29,
            // No history of metrics in Nimbus: RocksDB is not part of the distribution.
            "storm.metricstore.class", "org.apache.storm.metricstore.NoOpMetricStore",
            "nimbus.thrift.threads", 16,
            "supervisor.thrift.threads", 8,
            "topology.worker.logwriter.childopts", "-Xmx16m -XX:+UseSerialGC -XX:TieredStopAtLevel=1");
    }
}
