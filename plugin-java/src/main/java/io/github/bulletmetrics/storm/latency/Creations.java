package io.github.bulletmetrics.storm.latency;

import java.lang.reflect.Method;

/**
 * Reads when the client created a query: {@code getMetadata().getCreated()} of Bullet's {@code PubSubMessage}. It uses
 * reflection, because that class is not on the plugin's own class path. Not thread-safe.
 */
public final class Creations {
    /** For a query that does not say. */
    public static final long UNKNOWN = -1;

    private Class<?> knownMessage;
    private Class<?> knownMetadata;
    /** Null where the class has none, as in Bullets whose queries do not say. */
    private Method getMetadata;
    private Method getCreated;

    /** Knows no class yet. */
    public Creations() {
    }

    /**
     * By the clock of whoever made it: Bullet's web service, or Storm's own where queries come by DRPC; ms since the
     * Unix epoch. Bullet 1.0 and later have it.
     *
     * @throws ReflectiveOperationException when the query has it and reading it fails.
     */
    public long of(Object message) throws ReflectiveOperationException {
        if (message == null) {
            return UNKNOWN;
        }
        if (message.getClass() != knownMessage) {
            knownMessage = message.getClass();
            getMetadata = method(knownMessage, "getMetadata");
        }
        Object metadata = getMetadata == null ? null : getMetadata.invoke(message);
        if (metadata == null) {
            return UNKNOWN;
        }
        if (metadata.getClass() != knownMetadata) {
            knownMetadata = metadata.getClass();
            getCreated = method(knownMetadata, "getCreated");
        }
        Object created = getCreated == null ? null : getCreated.invoke(metadata);
        return created instanceof Long && (Long) created > 0 ? (Long) created : UNKNOWN;
    }

    private static Method method(Class<?> of, String name) {
        try {
            return of.getMethod(name);
        } catch (NoSuchMethodException none) {
            return null;
        }
    }
}
