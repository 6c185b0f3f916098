package io.github.bulletmetrics.topology.gateway;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executor;

/**
 * Gives each request to the route of its path and method, and turns what goes wrong there into a status: 413 for a body
 * that is too large, 400 for an {@link IllegalArgumentException}, 500 for anything else. Routes are added before it
 * serves.
 */
final class Router implements HttpHandler {
    private static final Logger LOG = LoggerFactory.getLogger(Router.class);

    private final Map<String, Map<String, Route>> routes = new LinkedHashMap<>();
    private final Executor clients;

    /** @param clients runs what clients ask, however much of that there is; must not be the server's own executor. */
    Router(Executor clients) {
        this.clients = clients;
    }

    /** Handles a request; it may give the reply later, from another thread. */
    interface Route {
        void handle(HttpExchange exchange, Reply reply) throws IOException;
    }

    void add(String method, String path, Route route) {
        routes.computeIfAbsent(path, any -> new LinkedHashMap<>()).put(method, route);
    }

    /** A route that does not hold up those of {@link #add}: it runs on threads of its own. */
    void addForClients(String method, String path, Route route) {
        add(method, path, (exchange, reply) -> clients.execute(() -> handle(route, exchange, reply)));
    }

    @Override
    public void handle(HttpExchange exchange) {
        Reply reply = new Reply(exchange);
        String path = exchange.getRequestURI().getPath();
        Map<String, Route> methods = routes.get(path);
        Route route = methods == null ? null : methods.get(exchange.getRequestMethod());
        if (methods == null) {
            reply.error(Reply.NOT_FOUND, "Nothing is at " + path + "; there is " + routes.keySet());
        } else if (route == null) {
            reply.error(Reply.METHOD_NOT_ALLOWED, path + " takes " + methods.keySet());
        } else {
            handle(route, exchange, reply);
        }
    }

    private static void handle(Route route, HttpExchange exchange, Reply reply) {
        try {
            route.handle(exchange, reply);
        } catch (TooLargeException e) {
            reply.error(Reply.TOO_LARGE, e.getMessage());
        } catch (IllegalArgumentException e) {
            reply.error(Reply.BAD_REQUEST, e.getMessage());
        } catch (IOException e) {
            LOG.debug("A request was interrupted", e);
            exchange.close();
        } catch (RuntimeException e) {
            LOG.error("{} {} failed", exchange.getRequestMethod(), exchange.getRequestURI(), e);
            reply.error(Reply.INTERNAL_ERROR, "The gateway failed: " + e);
        }
    }

    /**
     * Reads a body.
     *
     * @throws IllegalArgumentException when it has more bytes than are allowed.
     */
    static String body(HttpExchange exchange, int mostBytes) throws IOException {
        byte[] bytes = exchange.getRequestBody().readNBytes(mostBytes + 1);
        if (bytes.length > mostBytes) {
            throw new TooLargeException("The body must have at most " + mostBytes + " bytes");
        }
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static final class TooLargeException extends IllegalArgumentException {
        private static final long serialVersionUID = 1L;

        TooLargeException(String message) {
            super(message);
        }
    }
}
