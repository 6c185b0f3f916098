package io.github.bulletmetrics.topology.drpcstorm;

import org.apache.storm.shade.org.eclipse.jetty.server.AbstractConnector;
import org.apache.storm.shade.org.eclipse.jetty.server.Connector;
import org.apache.storm.shade.org.eclipse.jetty.server.Server;
import org.apache.storm.shade.org.eclipse.jetty.server.handler.ContextHandler;
import org.apache.storm.shade.org.eclipse.jetty.util.thread.QueuedThreadPool;

import java.io.IOException;

import javax.servlet.Filter;
import javax.servlet.FilterChain;
import javax.servlet.FilterConfig;
import javax.servlet.ServletException;
import javax.servlet.ServletRequest;
import javax.servlet.ServletResponse;

/**
 * Bounds the threads that serve calls: as {@code drpc.http.filter}, it is the only place where Storm 1.x hands over its
 * Jetty, whose 254 threads have no setting. A call holds its thread until it is answered, so that they are the calls
 * that can be under way.
 */
public final class FewThreads implements Filter {
    /** The system property that states how many. */
    static final String THREADS = "few.threads";
    private static final int PER_ACCEPTOR = 2; // one that accepts, one that selects

    @Override
    public void init(FilterConfig filter) {
        Server server = ((ContextHandler.Context) filter.getServletContext()).getContextHandler().getServer();
        int own = 0;
        for (Connector connector : server.getConnectors()) {
            own += PER_ACCEPTOR * ((AbstractConnector) connector).getAcceptors();
        }
        ((QueuedThreadPool) server.getThreadPool()).setMaxThreads(own + Integer.getInteger(THREADS));
    }

    @Override
    public void doFilter(ServletRequest request, ServletResponse response, FilterChain chain) throws IOException,
    ServletException {
        chain.doFilter(request, response);
    }

    @Override
    public void destroy() {
        // Nothing is held.
    }
}
