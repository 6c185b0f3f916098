package io.github.bulletmetrics.topology.dsl;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.dsl.BulletDSLException;
import com.yahoo.bullet.dsl.connector.BulletConnector;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/** Returns, read by read, the lists that a test gave it; an exception in their place fails the read. */
public final class ListConnector extends BulletConnector {
    private static final long serialVersionUID = 1L;
    /** Of all instances, since the settings can only name the class. */
    static final Deque<Object> READS = new ArrayDeque<>();

    boolean initialized;
    boolean closed;

    public ListConnector(BulletConfig config) {
        super(config);
    }

    static void reads(Object... messages) {
        READS.add(Arrays.asList(messages));
    }

    @Override
    public void initialize() {
        initialized = true;
    }

    @Override
    @SuppressWarnings("unchecked")
    public List<Object> read() throws BulletDSLException {
        Object next = READS.poll();
        if (next instanceof BulletDSLException failure) {
            throw failure;
        }
        return next == null ? List.of() : (List<Object>) next;
    }

    @Override
    public void close() {
        closed = true;
    }
}
