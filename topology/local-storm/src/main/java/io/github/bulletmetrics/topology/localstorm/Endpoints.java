package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.FreePorts;
import io.github.bulletmetrics.topology.localprocess.Json;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * Where the parts of a cluster listen; every one of them on this machine.
 *
 * @param drpc null for a cluster without a DRPC server
 */
record Endpoints(int zookeeperPort, int nimbusPort, int supervisorPort, List<Integer> slots, DrpcServer drpc) {
    /** The name that Storm knows this machine by; an address, since a name need not resolve. */
    static final String HOST = "127.0.0.1";

    /**
     * Ports that are free now.
     *
     * @param drpcThreads of the DRPC server's HTTP port; 0 for no such server
     */
    static Endpoints choose(int slots, int drpcThreads) throws IOException {
        List<Integer> ports = FreePorts.choose(slots + 6);
        return new Endpoints(ports.get(0), ports.get(1), ports.get(2), List.copyOf(ports.subList(6, ports.size())),
            drpcThreads == 0 ? null : new DrpcServer(ports.get(3), ports.get(4), ports.get(5), drpcThreads));
    }

    Map<String, Object> json() {
        Map<String, Object> json =
            Json.object("nimbus_host", HOST, "nimbus_thrift_port", nimbusPort, "zookeeper_port", zookeeperPort, "slots",
            slots);
        if (drpc != null) {
            json.put("drpc_http_port", drpc.httpPort());
            json.put("drpc_invocations_port", drpc.invocationsPort());
        }
        return json;
    }
}
