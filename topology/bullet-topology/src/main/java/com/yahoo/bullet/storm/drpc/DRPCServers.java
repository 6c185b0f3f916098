package com.yahoo.bullet.storm.drpc;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.PubSubException;
import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.Config;
import org.apache.storm.drpc.DRPCInvocationsClient;
import org.apache.storm.generated.DRPCRequest;
import org.apache.storm.thrift.TException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * The topology's connections to the DRPC servers, by Storm's own client. Which servers: Storm's {@code drpc.servers},
 * or else {@code bullet.pubsub.storm.drpc.servers}; at {@code drpc.invocations.port}. For one thread.
 */
final class DRPCServers implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DRPCServers.class);
    private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Map<String, Object> storm;
    private final List<String> hosts;
    private final String function;
    private final int port;
    private final Map<String, DRPCInvocationsClient> clients = new HashMap<>();
    private final Map<String, Long> failedNanos = new HashMap<>();
    private int turn;

    /** A call that waits for its result. */
    record Call(String host, String id, String argument) {
    }

    /** A use of a server, which may be away. */
    private interface Use<T> {
        T of(DRPCInvocationsClient client) throws TException;
    }

    @SuppressWarnings("unchecked")
    DRPCServers(BulletConfig config, DRPCSettings settings) {
        storm = config.getRequiredConfigAs(BulletStormConfig.STORM_CONFIG, Map.class);
        hosts = storm.get(Config.DRPC_SERVERS) instanceof List<?> servers && !servers.isEmpty()
            ? servers.stream().map(String::valueOf).toList() : settings.servers();
        function = settings.function();
        port = ((Number) storm.get(Config.DRPC_INVOCATIONS_PORT)).intValue();
    }

    /**
     * The next call of any server, each asked in turn; null when none waits. A server that is away is asked again a
     * second later.
     */
    Call fetch() {
        for (int i = 0; i < hosts.size(); i++) {
            String host = hosts.get(turn++ % hosts.size());
            if (isDue(host)) {
                Call call = fetch(host);
                if (call != null) {
                    return call;
                }
            }
        }
        return null;
    }

    private boolean isDue(String host) {
        Long failed = failedNanos.get(host);
        return failed == null || System.nanoTime() - failed >= RETRY_NANOS;
    }

    private Call fetch(String host) {
        try {
            DRPCRequest request = use(host, client -> client.fetchRequest(function));
            return request.get_request_id().isEmpty() ? null
                    : new Call(host, request.get_request_id(), request.get_func_args());
        } catch (TException e) {
            if (failedNanos.put(host, System.nanoTime()) == null) {
                LOG.warn("Cannot get queries from DRPC server {}:{}; retrying every second", host, port, e);
            }
            return null;
        }
    }

    /** Gives a call its result. */
    void give(String host, String id, String result) throws PubSubException {
        try {
            use(host, client -> {
                client.result(id, result);
                return null;
            });
        } catch (TException e) {
            throw new PubSubException("DRPC server " + host + ":" + port + " did not take a result: " + e);
        }
    }

    /** Ends a call without a result. One that cannot be notified ends by the server's timeout. */
    void fail(String host, String id) {
        try {
            use(host, client -> {
                client.failRequest(id);
                return null;
            });
        } catch (TException e) {
            LOG.debug("DRPC server {} was not informed that call {} failed", host, id, e);
        }
    }

    private <T> T use(String host, Use<T> use) throws TException {
        try {
            DRPCInvocationsClient client = clients.get(host);
            if (client == null) {
                client = new DRPCInvocationsClient(storm, host, port);
                clients.put(host, client);
            }
            T result = use.of(client);
            failedNanos.remove(host);
            return result;
        } catch (TException | RuntimeException e) {
            drop(host);
            throw e instanceof TException thrown ? thrown : new TException(e);
        }
    }

    private void drop(String host) {
        DRPCInvocationsClient broken = clients.remove(host);
        if (broken != null) {
            broken.close();
        }
    }

    @Override
    public void close() {
        new ArrayList<>(clients.keySet()).forEach(this::drop);
    }
}
