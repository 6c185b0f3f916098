package io.github.bulletmetrics.topology.capture;

import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.util.Map;

/** A data point's dimensions, which Storm 2.2 does not know: looked for once, by name. */
final class Dimensions {
    private static final MethodHandle FIELD = field();

    private Dimensions() {
    }

    private static MethodHandle field() {
        try {
            return MethodHandles.publicLookup().findGetter(DataPoint.class, "dimensions", Map.class);
        } catch (NoSuchFieldException | IllegalAccessException e) {
            return null;
        }
    }

    /** Null if the point has none, or this Storm knows none. */
    static Object of(DataPoint point) {
        try {
            return FIELD == null ? null : FIELD.invoke(point);
        } catch (Throwable e) {
            throw new IllegalStateException("Cannot read the dimensions of " + point.name, e);
        }
    }
}
