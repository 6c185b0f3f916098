package io.github.bulletmetrics.topology;

import org.apache.storm.tuple.Tuple;

import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.List;

/** Tuples that know where they come from and what they hold; nothing else of them may be asked. */
public final class FakeTuples {
    private FakeTuples() {
    }

    public static Tuple tuple(String component, String stream, Object... values) {
        return from(1, component, stream, Arrays.asList(values));
    }

    static Tuple from(int task, String component, String stream, List<Object> list) {
        return (Tuple) Proxy.newProxyInstance(FakeTuples.class.getClassLoader(), new Class<?>[] {Tuple.class},
            (proxy, method, arguments) -> switch (method.getName()) {
                case "getSourceComponent" -> component;
                case "getSourceStreamId" -> stream;
                case "getSourceTask" -> task;
                case "size" -> list.size();
                case "getValue", "getString", "getLong", "getBoolean", "getBinary" -> list.get((Integer) arguments[0]);
                case "toString" -> component + ":" + stream + list;
                case "hashCode" -> System.identityHashCode(proxy);
                case "equals" -> proxy == arguments[0];
                default -> throw new UnsupportedOperationException(method.getName());
            });
    }

    static Tuple tick() {
        return tuple(Streams.TICK_COMPONENT, Streams.DEFAULT_STREAM, 1, 1L);
    }
}
