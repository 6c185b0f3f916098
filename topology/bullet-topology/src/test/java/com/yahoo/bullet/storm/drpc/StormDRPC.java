package com.yahoo.bullet.storm.drpc;

import com.sun.net.httpserver.HttpServer;
import io.github.bulletmetrics.topology.gateway.JdkHttpServer;

import org.apache.storm.Config;
import org.apache.storm.daemon.drpc.DRPC;
import org.apache.storm.daemon.drpc.DRPCThrift;
import org.apache.storm.generated.DRPCExecutionException;
import org.apache.storm.generated.DistributedRPCInvocations;
import org.apache.storm.metric.StormMetricsRegistry;
import org.apache.storm.security.auth.ThriftConnectionType;
import org.apache.storm.security.auth.ThriftServer;
import org.apache.storm.thrift.TException;
import org.apache.storm.utils.Utils;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Storm's own DRPC server with its Thrift port for topologies. Its HTTP front is in storm-webapp, which Maven Central
 * does not have for this Storm; the one route of it that counts, {@code POST /drpc/FUNCTION}, is made here.
 */
final class StormDRPC implements AutoCloseable {
    private final Map<String, Object> storm = new HashMap<>(Utils.readDefaultConfig());
    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final DRPC drpc;
    private final ThriftServer invocations;
    private final HttpServer http;

    StormDRPC(int invocationsPort, int timeoutSecs) throws IOException {
        storm.put(Config.DRPC_INVOCATIONS_PORT, invocationsPort);
        storm.put("drpc.request.timeout.secs", timeoutSecs);
        drpc = new DRPC(new StormMetricsRegistry(), storm);
        invocations = new ThriftServer(storm, new DistributedRPCInvocations.Processor<>(new DRPCThrift(drpc)),
                                       ThriftConnectionType.DRPC_INVOCATIONS);
        threads.execute(invocations::serve);
        http = JdkHttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        http.setExecutor(threads);
        http.createContext("/drpc/", exchange -> {
            String function = exchange.getRequestURI().getPath().substring("/drpc/".length());
            String argument = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
            int status = 200;
            byte[] body;
            try {
                body = drpc.executeBlocking(function, argument).getBytes(StandardCharsets.UTF_8);
            } catch (DRPCExecutionException e) {
                status = 500;
                body = e.toString().getBytes(StandardCharsets.UTF_8);
            } catch (TException e) {
                throw new IOException(e);
            }
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        http.start();
    }

    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    /** Storm's configuration as a worker of this server's cluster has it. */
    Map<String, Object> storm() {
        return storm;
    }

    int httpPort() {
        return http.getAddress().getPort();
    }

    @Override
    public void close() {
        http.stop(0);
        invocations.stop();
        drpc.close();
        threads.shutdownNow();
    }
}
