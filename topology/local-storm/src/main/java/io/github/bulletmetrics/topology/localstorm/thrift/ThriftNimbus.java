package io.github.bulletmetrics.topology.localstorm.thrift;

import io.github.bulletmetrics.topology.localstorm.Nimbus;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.generated.ClusterSummary;
import org.apache.storm.generated.KillOptions;
import org.apache.storm.generated.NotAliveException;
import org.apache.storm.generated.RebalanceOptions;
import org.apache.storm.generated.SupervisorSummary;
import org.apache.storm.generated.TopologySummary;
import org.apache.storm.thrift.TException;
import org.apache.storm.utils.NimbusClient;
import org.apache.storm.utils.Utils;

/** Nimbus by its own protocol. */
public final class ThriftNimbus implements Nimbus {
    private static final int TIMEOUT_MS = 3_000;

    private final String host;
    private final int port;
    private final Map<String, Object> config;

    /** Reads Storm's defaults; connects to nothing. */
    public ThriftNimbus(String host, int port) {
        this.host = host;
        this.port = port;
        this.config = Utils.readDefaultConfig();
        config.put(Config.STORM_NIMBUS_RETRY_TIMES, 0);
    }

    @Override
    public View view() throws IOException {
        return call(nimbus -> {
            ClusterSummary summary = nimbus.getClusterInfo();
            List<SupervisorSummary> supervisors = summary.get_supervisors();
            return new View(supervisors.size(), supervisors.stream().mapToInt(SupervisorSummary::get_num_workers).sum(),
                summary.get_topologies().stream().map(ThriftNimbus::topology).toList());
        });
    }

    @Override
    public boolean kill(String topology, int waitSecs) throws IOException {
        KillOptions options = new KillOptions();
        options.set_wait_secs(waitSecs);
        return call(nimbus -> {
            try {
                nimbus.killTopologyWithOpts(topology, options);
                return true;
            } catch (NotAliveException e) {
                return false;
            }
        });
    }

    @Override
    public boolean rebalance(String topology, int workers, int waitSecs) throws IOException {
        RebalanceOptions options = new RebalanceOptions();
        options.set_num_workers(workers);
        options.set_wait_secs(waitSecs);
        return call(nimbus -> {
            try {
                nimbus.rebalance(topology, options);
                return true;
            } catch (NotAliveException e) {
                return false;
            }
        });
    }

    private static Topology topology(TopologySummary summary) {
        return new Topology(summary.get_name(), summary.get_id(), summary.get_status(), summary.get_num_workers(),
            summary.get_num_executors(), summary.get_uptime_secs());
    }

    private interface Call<T> {
        T on(org.apache.storm.generated.Nimbus.Iface nimbus) throws TException;
    }

    /** Storm's client throws unchecked exceptions, too, for a Nimbus that is not there. */
    private <T> T call(Call<T> call) throws IOException {
        try (NimbusClient client = NimbusClient.Builder.withConf(config).withTimeout(
                TIMEOUT_MS).buildWithNimbusHostPort(host, port)) {
            return call.on(client.getClient());
        } catch (TException | RuntimeException e) {
            throw new IOException("Nimbus at " + host + ":" + port + " does not answer: " + e, e);
        }
    }
}
