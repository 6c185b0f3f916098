package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Leftovers;
import io.github.bulletmetrics.topology.localprocess.ProcessDirectory;
import io.github.bulletmetrics.topology.localprocess.ProcessEntry;
import io.github.bulletmetrics.topology.localprocess.ProcessId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * The directory of one cluster: a Storm home of its own ({@code lib}, {@code lib-worker}, {@code extlib}, {@code conf},
 * {@code log4j2}) with the cluster's state and logs.
 */
final class ClusterDirectory extends ProcessDirectory {
    private static final String SUPERVISOR = "org.apache.storm.daemon.supervisor.Supervisor";
    private static final Duration GRACE = Duration.ofSeconds(3);
    private static final Duration LIMIT = Duration.ofSeconds(15);

    private ClusterDirectory(Path path) throws IOException {
        super(LocalStorm.PROGRAM, path, List.of("lib", "lib-worker", "extlib", "conf", "log4j2", "storm-local",
                "zookeeper", "logs",
            "cluster.properties", "cluster.properties.new"));
    }

    /**
     * The directory at this path, which need not exist; the same one however it is written (relative, through links).
     */
    static ClusterDirectory at(Path path) throws IOException {
        return new ClusterDirectory(path);
    }

    Path recordFile() {
        return child("cluster.properties");
    }

    /** The record of the launcher that used the directory last; empty when there is none. */
    Optional<ClusterRecord> record() throws IOException {
        return Files.exists(recordFile()) ? Optional.of(ClusterRecord.load(recordFile())) : Optional.empty();
    }

    /**
     * The record of the cluster that runs here.
     *
     * @throws IOException when no launcher lives, or its cluster has not come up yet
     */
    ClusterRecord requireReady() throws IOException {
        Optional<ClusterRecord> ready = holder().isPresent() ? record().filter(ClusterRecord::ready) : Optional.empty();
        return ready.orElseThrow(() -> new IOException("no cluster is up in " + path()
                + ": start one with local-storm up --dir " + path()));
    }

    /** What the marker and the record name. */
    @Override
    public Leftovers leftovers() throws IOException {
        return leftovers(record().map(record -> record.pids().values()).orElse(List.of()));
    }

    /**
     * What the marker names, and these processes. A supervisor is killed at once, since it would start its workers
     * again.
     */
    Leftovers leftovers(Collection<ProcessId> recorded) {
        return new Leftovers(marker(), recorded, ClusterDirectory::isSupervisor, GRACE, LIMIT);
    }

    static boolean isSupervisor(ProcessEntry process) {
        return process.commandLine().contains(SUPERVISOR);
    }
}
