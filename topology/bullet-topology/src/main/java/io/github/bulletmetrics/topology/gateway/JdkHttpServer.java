package io.github.bulletmetrics.topology.gateway;

import com.sun.net.httpserver.HttpServer;

import java.io.IOException;
import java.net.InetSocketAddress;

/**
 * Makes the JDK's HTTP server with settings that suit hundreds of waiting clients. The JDK takes them from system
 * properties only, when the first server of the process is made; so every one is to be made here. A property that is
 * set already stays.
 */
public final class JdkHttpServer {
    static {
        // Answers are sent at once, not 40 ms later.
        set("nodelay", "true");
        // By default the server closes kept connections, unannounced, while 200 others are idle: a result that the
        // topology posts on such a connection is lost.
        set("maxIdleConnections", "20000");
        set("idleInterval", "3600");
        // Seconds for a request to come in whole.
        set("maxReqTime", "30");
    }

    private JdkHttpServer() {
    }

    /**
     * Makes a server, which serves nothing before its start.
     *
     * @param listen where to listen; port 0 for any.
     * @param backlog how many connections may wait to be accepted.
     * @return the server.
     * @throws IOException when the address cannot be taken.
     */
    public static HttpServer create(InetSocketAddress listen, int backlog) throws IOException {
        return HttpServer.create(listen, backlog);
    }

    private static void set(String name, String value) {
        String property = "sun.net.httpserver." + name;
        if (System.getProperty(property) == null) {
            System.setProperty(property, value);
        }
    }
}
