package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Json;
import io.github.bulletmetrics.topology.localprocess.ProcessTable;
import io.github.bulletmetrics.topology.localprocess.Program;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Prints what runs for a directory. {@code running}: a launcher lives; {@code ready}: its cluster is up; without a
 * launcher, {@code leftover_pids} are the processes that {@code down} would end.
 */
@Command(name = "status", mixinStandardHelpOptions = true,
        description = "Prints the state of the cluster as one line of JSON.")
final class StatusCommand implements Callable<Integer> {
    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of the cluster.")
    private Path dir;

    @Override
    public Integer call() throws IOException {
        ClusterDirectory directory = ClusterDirectory.at(dir);
        Map<String, Object> status = directory.status();
        if (status.get("running").equals(true)) {
            describe(directory, status);
        }
        Program.print(status);
        return 0;
    }

    private static void describe(ClusterDirectory directory, Map<String, Object> status) throws IOException {
        Optional<ClusterRecord> record = directory.record();
        boolean ready = record.map(ClusterRecord::ready).orElse(false);
        status.put("ready", ready);
        if (!ready) {
            return;
        }
        Endpoints endpoints = record.get().endpoints();
        status.putAll(endpoints.json());
        Map<String, Object> pids = Json.object();
        record.get().pids().forEach((name, pid) -> pids.put(name, pid.pid()));
        status.put("pids", pids);
        List<Nimbus.Topology> topologies = NimbusConnector.connect(directory, endpoints).view().topologies();
        status.put("topologies", topologies.stream().map(Nimbus.Topology::json).toList());
        status.put("workers", Worker.of(directory.marker(), new ProcessTable()).stream().map(Worker::json).toList());
    }
}
