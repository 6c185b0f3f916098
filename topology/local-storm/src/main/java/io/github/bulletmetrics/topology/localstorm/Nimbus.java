package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Json;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * What the launcher asks of Nimbus. Every call opens a connection of its own, blocks for a few seconds at most, and
 * throws IOException when Nimbus does not answer. Public, as its implementation lives in another class loader.
 */
public interface Nimbus {
    /** The cluster as Nimbus sees it now. */
    View view() throws IOException;

    /**
     * Kills a topology by name; its workers end some seconds after {@code waitSecs}.
     *
     * @return false when no topology of that name is alive
     */
    boolean kill(String topology, int waitSecs) throws IOException;

    /**
     * Spreads a topology's tasks over another number of workers; they move some seconds after {@code waitSecs}.
     *
     * @return false when no topology of that name is alive
     */
    boolean rebalance(String topology, int workers, int waitSecs) throws IOException;

    /**
     * A look at the cluster.
     *
     * @param slots worker slots of all supervisors that have reported
     */
    record View(int supervisors, int slots, List<Topology> topologies) {
    }

    /** A topology; status is Storm's (ACTIVE, INACTIVE, KILLED, REBALANCING). */
    record Topology(String name, String id, String status, int workers, int executors, int uptimeSecs) {
        Map<String, Object> json() {
            return Json.object("name", name, "id", id, "status", status, "workers", workers, "executors", executors,
                "uptime_secs", uptimeSecs);
        }
    }
}
