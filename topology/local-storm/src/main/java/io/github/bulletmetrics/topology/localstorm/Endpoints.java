package io.github.bulletmetrics.topology.localstorm;

import java.io.IOException;
import java.util.List;
import java.util.Map;

/** Where the parts of a cluster listen; every one of them on this machine. */
record Endpoints(int zookeeperPort, int nimbusPort, int supervisorPort, List<Integer> slots) {
    /** The name that Storm knows this machine by; an address, since a name need not resolve. */
    static final String HOST = "127.0.0.1";

    /** Ports that are free now. */
    static Endpoints choose(int slots) throws IOException {
        List<Integer> ports = FreePorts.choose(slots + 3);
        return new Endpoints(ports.get(0), ports.get(1), ports.get(2), List.copyOf(ports.subList(3, ports.size())));
    }

    Map<String, Object> json() {
        return Json.object("nimbus_host", HOST, "nimbus_thrift_port", nimbusPort, "zookeeper_port", zookeeperPort, "slots", slots);
    }
}
