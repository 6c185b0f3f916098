package io.github.bulletmetrics.topology.compat;

import org.apache.storm.generated.StormTopology;

import java.lang.reflect.Method;
import java.util.Map;

/**
 * Storm's cluster in this process, with one slot, so that a worker that is started again has the same port. By
 * reflection: from 2.0 on it is made in another way, and its methods return other types.
 */
final class LocalStorm {
    private LocalStorm() {
    }

    /** Starts a cluster and runs a topology on it, until the process ends. */
    static void run(String name, Map<String, Object> conf, StormTopology topology) throws ReflectiveOperationException {
        Object cluster = isStorm1() ? cluster1() : cluster2();
        Method submit = cluster.getClass().getMethod("submitTopology", String.class, Map.class, StormTopology.class);
        submit.invoke(cluster, name, conf, topology);
    }

    private static boolean isStorm1() {
        try {
            Class.forName("org.apache.storm.LocalCluster$Builder");
            return false;
        } catch (ClassNotFoundException clojure) {
            return true;
        }
    }

    private static Object cluster1() throws ReflectiveOperationException {
        return Class.forName("org.apache.storm.Testing").getMethod("getLocalCluster", Map.class)
                .invoke(null, Map.of("supervisors", 1,
            "ports-per-supervisor", 1, "daemon-conf", Map.of("topology.enable.message.timeouts", true)));
    }

    private static Object cluster2() throws ReflectiveOperationException {
        Class<?> type = Class.forName("org.apache.storm.LocalCluster$Builder");
        Object builder = type.getConstructor().newInstance();
        type.getMethod("withSupervisors", int.class).invoke(builder, 1);
        type.getMethod("withPortsPerSupervisor", int.class).invoke(builder, 1);
        return type.getMethod("build").invoke(builder);
    }
}
