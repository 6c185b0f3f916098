package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.ProcessId;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Collectors;

/**
 * What a launcher writes down about its cluster for the other commands: where it listens and which processes it
 * started.
 *
 * @param ready whether the cluster has come up
 */
record ClusterRecord(Endpoints endpoints, Map<String, ProcessId> pids, boolean ready) {
    private static final String PID_PREFIX = "pid.";

    /** Adds a process; the record itself does not change. */
    ClusterRecord with(String name, ProcessId pid) {
        Map<String, ProcessId> more = new LinkedHashMap<>(pids);
        more.put(name, pid);
        return new ClusterRecord(endpoints, more, ready);
    }

    ClusterRecord nowReady() {
        return new ClusterRecord(endpoints, pids, true);
    }

    /** Replaces the file in one step. */
    void save(Path file) throws IOException {
        Properties properties = new Properties();
        properties.setProperty("zookeeper.port", Integer.toString(endpoints.zookeeperPort()));
        properties.setProperty("nimbus.port", Integer.toString(endpoints.nimbusPort()));
        properties.setProperty("supervisor.port", Integer.toString(endpoints.supervisorPort()));
        properties.setProperty("slots",
                endpoints.slots().stream().map(String::valueOf).collect(Collectors.joining(",")));
        if (endpoints.drpc() != null) {
            properties.setProperty("drpc", endpoints.drpc().toString());
        }
        properties.setProperty("ready", Boolean.toString(ready));
        pids.forEach((name, pid) -> properties.setProperty(PID_PREFIX + name, pid.pid() + "," + pid.startTicks()));
        Path aside = file.resolveSibling(file.getFileName() + ".new");
        try (Writer writer = Files.newBufferedWriter(aside)) {
            properties.store(writer, "written by local-storm up");
        }
        Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    static ClusterRecord load(Path file) throws IOException {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            properties.load(reader);
        }
        try {
            return parse(properties);
        } catch (NumberFormatException | NullPointerException | ArrayIndexOutOfBoundsException e) {
            throw new IOException(file + " is not a record of local-storm: remove its directory and run up again", e);
        }
    }

    private static ClusterRecord parse(Properties properties) {
        List<Integer> slots = Arrays.stream(properties.getProperty("slots").split(",")).map(Integer::valueOf).toList();
        Endpoints endpoints = new Endpoints(number(properties, "zookeeper.port"), number(properties, "nimbus.port"),
            number(properties, "supervisor.port"), slots,
            properties.containsKey("drpc") ? DrpcServer.parse(properties.getProperty("drpc")) : null);
        Map<String, ProcessId> pids = new LinkedHashMap<>();
        properties.stringPropertyNames().stream().filter(key -> key.startsWith(PID_PREFIX)).sorted().forEach(key -> {
            String[] parts = properties.getProperty(key).split(",");
            pids.put(key.substring(PID_PREFIX.length()),
                    new ProcessId(Long.parseLong(parts[0]), Long.parseLong(parts[1])));
        });
        return new ClusterRecord(endpoints, pids, Boolean.parseBoolean(properties.getProperty("ready")));
    }

    private static int number(Properties properties, String key) {
        return Integer.parseInt(properties.getProperty(key));
    }
}
