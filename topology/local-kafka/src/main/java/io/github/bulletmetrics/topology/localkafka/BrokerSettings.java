package io.github.bulletmetrics.topology.localkafka;

import java.io.IOException;
import java.io.Writer;
import java.nio.file.Files;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;

/**
 * The broker's settings: broker and controller in one process, on loopback, its state thrown away with it.
 *
 * @param heapMib the broker's heap limit
 * @param overrides settings of server.properties that the user gave
 */
record BrokerSettings(int heapMib, Map<String, String> overrides) {
    /** An address: a name need not resolve. */
    static final String HOST = "127.0.0.1";
    static final int DEFAULT_HEAP_MIB = 256;

    private static final Set<String> OWN = Set.of("process.roles", "node.id", "listeners", "advertised.listeners",
        "controller.listener.names", "controller.quorum.bootstrap.servers", "inter.broker.listener.name", "log.dirs");

    /** What the launcher itself must set and the user may not. */
    Set<String> refusedOverrides() {
        Set<String> refused = new TreeSet<>(overrides.keySet());
        refused.retainAll(OWN);
        return refused;
    }

    void write(BrokerDirectory directory, int port, int controllerPort) throws IOException {
        Properties properties = new Properties();
        properties.putAll(all(directory, port, controllerPort));
        Files.createDirectories(directory.config().getParent());
        try (Writer writer = Files.newBufferedWriter(directory.config())) {
            properties.store(writer, "written by local-kafka up");
        }
    }

    private Map<String, String> all(BrokerDirectory directory, int port, int controllerPort) {
        Map<String, String> all = new LinkedHashMap<>(defaults());
        all.putAll(overrides);
        String broker = HOST + ":" + port;
        String controller = HOST + ":" + controllerPort;
        all.put("process.roles", "broker,controller");
        all.put("node.id", "1");
        all.put("listeners", "PLAINTEXT://" + broker + ",CONTROLLER://" + controller);
        all.put("advertised.listeners", "PLAINTEXT://" + broker);
        all.put("controller.listener.names", "CONTROLLER");
        all.put("controller.quorum.bootstrap.servers", controller);
        all.put("inter.broker.listener.name", "PLAINTEXT");
        all.put("log.dirs", directory.data().toString());
        return all;
    }

    /** Small, and quick to start: one node needs no copies, and its consumers nobody to wait for. */
    private static Map<String, String> defaults() {
        Map<String, String> defaults = new LinkedHashMap<>();
        defaults.put("offsets.topic.replication.factor", "1");
        defaults.put("offsets.topic.num.partitions", "1");
        defaults.put("transaction.state.log.replication.factor", "1");
        defaults.put("transaction.state.log.min.isr", "1");
        defaults.put("share.coordinator.state.topic.replication.factor", "1");
        defaults.put("share.coordinator.state.topic.min.isr", "1");
        defaults.put("group.initial.rebalance.delay.ms", "0");
        // A misspelled topic is an error, not a new topic.
        defaults.put("auto.create.topics.enable", "false");
        defaults.put("num.network.threads", "2");
        defaults.put("num.io.threads", "2");
        // 128 MiB by default, half of the heap.
        defaults.put("log.cleaner.dedupe.buffer.size", "4194304");
        // Records of any age stay: they are there to be read late.
        defaults.put("log.retention.ms", "-1");
        return defaults;
    }
}
