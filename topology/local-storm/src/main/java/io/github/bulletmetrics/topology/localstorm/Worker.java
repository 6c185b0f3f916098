package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Json;
import io.github.bulletmetrics.topology.localprocess.Marker;
import io.github.bulletmetrics.topology.localprocess.ProcessEntry;
import io.github.bulletmetrics.topology.localprocess.ProcessTable;
import java.io.IOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A live worker JVM of the cluster.
 *
 * @param topologyId Storm's id: the topology's name, a serial number and the time of submission, joined by dashes
 * @param port the worker's slot
 * @param startedMs when the JVM was started, ms since the epoch, as exact as the kernel's tick of 10 ms and its boot
 *     time of 1 s
 */
record Worker(String topologyId, int port, long pid, long startedMs) {
    private static final String WORKER = "org.apache.storm.daemon.worker.Worker";
    private static final String LOG_WRITER = "org.apache.storm.LogWriter";

    /** The workers of one cluster, by ascending pid. */
    static List<Worker> of(Marker marker, ProcessTable processes) throws IOException {
        return processes.marked(marker).stream().map(Worker::from).flatMap(Optional::stream).toList();
    }

    private static Optional<Worker> from(ProcessEntry process) {
        Optional<String> topologyId = process.property("storm.id");
        Optional<String> port = process.property("worker.port");
        if (!isWorker(process) || topologyId.isEmpty() || port.isEmpty()) {
            return Optional.empty();
        }
        return ProcessHandle.of(process.pid())
            .flatMap(handle -> handle.info().startInstant())
            .map(Instant::toEpochMilli)
            .map(startedMs -> new Worker(topologyId.get(), Integer.parseInt(port.get()), process.pid(), startedMs));
    }

    /**
     * A worker's JVM; the LogWriter that Storm starts around each worker has the worker's whole command line in its
     * own.
     */
    static boolean isWorker(ProcessEntry process) {
        return process.commandLine().contains(WORKER) && !process.commandLine().contains(LOG_WRITER);
    }

    /** The topology's name; a name may itself have dashes, the serial number and the time have none. */
    static String topologyName(String topologyId) {
        return topologyId.replaceFirst("-\\d+-\\d+$", "");
    }

    Map<String, Object> json() {
        return Json.object("topology_id", topologyId, "topology", topologyName(topologyId), "port", port, "pid", pid,
            "started_ms", startedMs);
    }
}
