package io.github.bulletmetrics.topology.gateway;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.sun.net.httpserver.HttpExchange;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.IOException;
import java.nio.charset.StandardCharsets;

/**
 * The answer to one request, given once, by whatever thread and whenever; what comes after the first is left out. A
 * client that has gone is no error.
 */
final class Reply {
    private static final Logger LOG = LoggerFactory.getLogger(Reply.class);
    static final int OK = 200;
    static final int NO_CONTENT = 204;
    static final int BAD_REQUEST = 400;
    static final int NOT_FOUND = 404;
    static final int METHOD_NOT_ALLOWED = 405;
    static final int TOO_LARGE = 413;
    static final int UNPROCESSABLE = 422;
    static final int TOO_MANY_REQUESTS = 429;
    static final int INTERNAL_ERROR = 500;
    static final int UNAVAILABLE = 503;
    static final int TIMED_OUT = 504;

    private final HttpExchange exchange;
    private boolean given;

    Reply(HttpExchange exchange) {
        this.exchange = exchange;
    }

    /** Answers with JSON. Blocks until it is written. */
    void json(int status, String json) {
        send(status, "application/json", json);
    }

    void json(int status, JsonElement json) {
        json(status, json.toString());
    }

    /** Answers {@code {"error": message}}. */
    void error(int status, String message) {
        JsonObject json = new JsonObject();
        json.addProperty("error", message);
        json(status, json);
    }

    void text(int status, String text) {
        send(status, "text/plain; charset=utf-8", text);
    }

    /** Answers with a status alone. */
    void empty(int status) {
        send(status, null, null);
    }

    /** Returns the exchange to a caller that answers it in parts, or null if it is answered. */
    synchronized HttpExchange takeExchange() {
        if (given) {
            return null;
        }
        given = true;
        return exchange;
    }

    private synchronized void send(int status, String type, String body) {
        if (given) {
            return;
        }
        given = true;
        try (exchange) {
            if (body == null) {
                exchange.sendResponseHeaders(status, -1);
                return;
            }
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", type);
            exchange.sendResponseHeaders(status, bytes.length);
            // Closed with the exchange, not before: where the client has gone, the stream's own close fails, and the
            // exchange, finding it closed, would keep the connection's file descriptor for ever.
            exchange.getResponseBody().write(bytes);
        } catch (IOException e) {
            LOG.debug("A client disconnected before its answer", e);
        }
    }
}
