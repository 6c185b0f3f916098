package io.github.bulletmetrics.storm.jar;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import org.apache.storm.Config;
import org.apache.storm.metric.api.IMetricsConsumer;

/**
 * What Bullet does when it submits a topology, in a JVM that has the finished jar and one Bullet's type. Arguments: the
 * class of {@code bullet.topology.metrics.classes}, the type that Bullet calls it with, and the type that other
 * releases have. Prints what was registered, and that the class that Storm then loads is there.
 */
public final class RegisterMain {
    private RegisterMain() {
    }

    public static void main(String[] arguments) throws ReflectiveOperationException {
        Class<?> type = Class.forName(arguments[1]);
        if (isThere(arguments[2])) {
            throw new IllegalStateException(arguments[2] + " is on the class path of a Bullet that does not have it");
        }
        Object bullet = type.getConstructor().newInstance();
        type.getMethod("set", String.class, Object.class).invoke(bullet, "bullet.topology.metrics.collector.address",
                List.of("collector.example:4320"));
        Config storm = new Config();
        try {
            Method register = Class.forName(arguments[0]).getMethod("register", Config.class, type);
            register.invoke(null, storm, bullet);
        } catch (Exception logged) {
            System.out.println("Could not call the register method: " + (logged instanceof InvocationTargetException
                    ? logged.getCause() : logged));
            return;
        }
        System.out.println("registered " + storm);
        Map<?, ?> entry = (Map<?, ?>) ((List<?>) storm.get(Config.TOPOLOGY_METRICS_CONSUMER_REGISTER)).get(0);
        IMetricsConsumer consumer = (IMetricsConsumer) Class.forName((String) entry.get("class")).getConstructor()
                .newInstance();
        consumer.cleanup();
        System.out.println("made " + consumer.getClass().getName());
    }

    private static boolean isThere(String type) {
        try {
            Class.forName(type);
            return true;
        } catch (ClassNotFoundException absent) {
            return false;
        }
    }
}
