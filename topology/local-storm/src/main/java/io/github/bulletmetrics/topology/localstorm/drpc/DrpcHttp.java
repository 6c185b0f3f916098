package io.github.bulletmetrics.topology.localstorm.drpc;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.storm.daemon.drpc.DRPC;
import org.apache.storm.generated.AuthorizationException;
import org.apache.storm.generated.DRPCExceptionType;
import org.apache.storm.generated.DRPCExecutionException;
import org.eclipse.jetty.http.HttpStatus;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * DRPC over HTTP, on loopback: {@code POST /drpc/FUNCTION} with the argument as its body, or
 * {@code GET /drpc/FUNCTION/ARGUMENT}. A call takes up a thread until it is answered, and a call for which no thread is
 * left waits, seen by nobody: this is what bounds how many queries can be active through DRPC.
 *
 * <p>Source: the HTTP port of Storm 2.8's DRPCServer, on the same Jetty, with the same statuses for calls that fail.
 */
final class DrpcHttp implements AutoCloseable {
    private static final Pattern PATH = Pattern.compile("/drpc/([^/]+)(?:/(.+))?");
    /** As Storm has it; by Jetty's own 30 s a connection would be closed on which a call waits for its answer. */
    private static final long IDLE_TIMEOUT_MS = 200_000;

    private final Server server;
    private final ServerConnector connector;

    /**
     * Serves nothing before {@link #start}.
     *
     * @param port 0 for any.
     * @param threads Jetty's, of which it keeps some three for itself; Storm leaves them at Jetty's default of 200.
     */
    DrpcHttp(DRPC drpc, int port, QueuedThreadPool threads) {
        server = new Server(threads);
        connector = new ServerConnector(server, 1, 1);
        connector.setHost("127.0.0.1");
        connector.setPort(port);
        connector.setIdleTimeout(IDLE_TIMEOUT_MS);
        server.addConnector(connector);
        server.setHandler(new Calls(drpc));
    }

    void start() throws Exception {
        server.start();
    }

    /** Where it listens. */
    int port() {
        return connector.getLocalPort();
    }

    @Override
    public void close() throws Exception {
        server.stop();
    }

    private static final class Calls extends Handler.Abstract {
        private final DRPC drpc;

        Calls(DRPC drpc) {
            this.drpc = drpc;
        }

        @Override
        public boolean handle(Request request, Response response, Callback callback) throws Exception {
            Matcher path = PATH.matcher(Request.getPathInContext(request));
            if (!path.matches()) {
                return false;
            }
            String argument = path.group(2) == null ? Content.Source.asString(request) : path.group(2);
            answer(path.group(1), argument, response, callback);
            return true;
        }

        private void answer(String function, String argument, Response response, Callback callback)
                throws AuthorizationException {
            String text;
            try {
                text = drpc.executeBlocking(function, argument);
            } catch (DRPCExecutionException e) {
                response.setStatus(status(e.get_type()));
                text = e.get_type() + ": " + e.get_msg();
            }
            Content.Sink.write(response, true, text, callback);
        }

        private static int status(DRPCExceptionType type) {
            if (type == null) {
                return HttpStatus.INTERNAL_SERVER_ERROR_500;
            }
            return switch (type) {
                case FAILED_REQUEST -> HttpStatus.BAD_REQUEST_400;
                case SERVER_SHUTDOWN -> HttpStatus.SERVICE_UNAVAILABLE_503;
                case SERVER_TIMEOUT -> HttpStatus.GATEWAY_TIMEOUT_504;
                default -> HttpStatus.INTERNAL_SERVER_ERROR_500;
            };
        }
    }
}
