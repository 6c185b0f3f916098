package io.github.bulletmetrics.topology.localstorm.drpc;

import java.util.Map;
import org.apache.storm.DaemonConfig;
import org.apache.storm.daemon.drpc.DRPC;
import org.apache.storm.daemon.drpc.DRPCThrift;
import org.apache.storm.generated.DistributedRPC;
import org.apache.storm.generated.DistributedRPCInvocations;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.security.auth.ThriftConnectionType;
import org.apache.storm.security.auth.ThriftServer;
import org.apache.storm.utils.ConfigUtils;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * Storm 2.8's DRPC: {@code drpc.port} for Thrift clients, {@code drpc.invocations.port} for topologies,
 * {@code drpc.http.port} for HTTP.
 *
 * <p>The calls, their queues and their timeouts, and both Thrift ports are storm-server's. Storm's own main class of
 * this daemon, {@code DRPCServer}, is in storm-webapp, which is not on Maven Central; so its HTTP port is
 * {@link DrpcHttp}.
 */
public final class DrpcDaemon {
    private DrpcDaemon() {
    }

    /**
     * Serves until it is killed.
     *
     * @param arguments the threads of the HTTP port.
     */
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> storm = ConfigUtils.readStormConfig();
        DRPC drpc = new DRPC(new StormMetricsRegistry(), storm);
        DRPCThrift thrift = new DRPCThrift(drpc);
        ThriftServer topologies =
            new ThriftServer(storm, new DistributedRPCInvocations.Processor<>(thrift),
            ThriftConnectionType.DRPC_INVOCATIONS);
        ThriftServer clients = new ThriftServer(storm, new DistributedRPC.Processor<>(thrift),
                ThriftConnectionType.DRPC);
        DrpcHttp http = new DrpcHttp(drpc, ((Number) storm.get(DaemonConfig.DRPC_HTTP_PORT)).intValue(),
            new QueuedThreadPool(Integer.parseInt(arguments[0])));
        Runtime.getRuntime().addShutdownHook(new Thread(drpc::close, "end-calls"));
        new Thread(topologies::serve, "drpc-topologies").start();
        new Thread(clients::serve, "drpc-clients").start();
        http.start();
    }
}
