package io.github.bulletmetrics.storm.latency;

import java.lang.reflect.Method;

/**
 * Reads the signal of Bullet's {@code com.yahoo.bullet.pubsub.Metadata}. It uses reflection, because that class is not
 * on the plugin's own class path. Not thread-safe.
 */
public final class Signals {
    private Class<?> known;
    private Method getSignal;

    /** Knows no class yet. */
    public Signals() {
    }

    /**
     * The signal's name, such as "COMPLETE"; null where there is no metadata or no signal in it.
     *
     * @throws ReflectiveOperationException when the object has none that could be asked for.
     */
    public String of(Object metadata) throws ReflectiveOperationException {
        if (metadata == null) {
            return null;
        }
        if (metadata.getClass() != known) {
            getSignal = metadata.getClass().getMethod("getSignal");
            known = metadata.getClass();
        }
        Object signal = getSignal.invoke(metadata);
        return signal instanceof Enum ? ((Enum<?>) signal).name() : null;
    }
}
