package io.github.bulletmetrics.storm.noharm;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.storm.metric.api.IMetricsConsumer.DataPoint;

/** One of Storm's own metrics consumers, unmodified, with the classes of its own Storm. */
final class StormsConsumer {
    private static final String API = "org.apache.storm.metric.api.IMetricsConsumer";

    private final Object consumer;
    private final Method handle;
    private final Constructor<?> taskInfo;
    private final Constructor<?> dataPoint;

    /**
     * @param lib the jars of its Storm; null for that of this program.
     * @param argument of its registration.
     */
    StormsConsumer(File lib, String className, Object argument) throws IOException, ReflectiveOperationException {
        ClassLoader loader = lib == null ? StormsConsumer.class.getClassLoader() : loader(lib);
        // Where Clojure, in which Storm 1 is written, looks for itself.
        Thread.currentThread().setContextClassLoader(loader);
        Class<?> api = loader.loadClass(API);
        taskInfo = loader.loadClass(API + "$TaskInfo").getConstructor(String.class, int.class, String.class, int.class,
                long.class, int.class);
        dataPoint = loader.loadClass(API + "$DataPoint").getConstructor(String.class, Object.class);
        handle = api.getMethod("handleDataPoints", taskInfo.getDeclaringClass(), Collection.class);
        consumer = loader.loadClass(className).getConstructor().newInstance();
        Class<?> context = loader.loadClass("org.apache.storm.task.TopologyContext");
        Map<?, ?> conf = lib == null ? Collections.emptyMap()
                : (Map<?, ?>) loader.loadClass("org.apache.storm.utils.Utils").getMethod("readDefaultConfig")
                .invoke(null);
        api.getMethod("prepare", Map.class, Object.class, context,
                loader.loadClass("org.apache.storm.task.IErrorReporter"))
                .invoke(consumer, conf, argument, any(context), null);
    }

    private static ClassLoader loader(File lib) throws IOException {
        List<URL> jars = new ArrayList<>();
        for (File jar : lib.listFiles()) {
            jars.add(jar.toURI().toURL());
        }
        return new URLClassLoader(jars.toArray(new URL[0]), ClassLoader.getSystemClassLoader().getParent());
    }

    /** A context of whatever Storm: these consumers ask for the topology's id at most. */
    private static Object any(Class<?> context) throws ReflectiveOperationException {
        Constructor<?> constructor = context.getConstructors()[0];
        List<Object> arguments = new ArrayList<>();
        for (Class<?> type : constructor.getParameterTypes()) {
            arguments.add(type == String.class ? "bench-1-1700000000" : type == Integer.class ? (Object) 1
                    : type == Map.class ? new HashMap<>() : type == List.class
                    ? Collections.singletonList(1) : null);
        }
        return constructor.newInstance(arguments.toArray());
    }

    /** The arguments of its calls. */
    List<Object[]> calls(List<Reports.Report> reports) throws ReflectiveOperationException {
        List<Object[]> calls = new ArrayList<>();
        for (Reports.Report report : reports) {
            List<Object> points = new ArrayList<>(report.points.size());
            for (DataPoint point : report.points) {
                points.add(dataPoint.newInstance(point.name, point.value));
            }
            calls.add(new Object[] {taskInfo.newInstance(report.task.srcWorkerHost, report.task.srcWorkerPort,
                    report.task.srcComponentId,
                    report.task.srcTaskId, report.task.timestamp, report.task.updateIntervalSecs), points});
        }
        return calls;
    }

    void handle(List<Object[]> calls) throws ReflectiveOperationException {
        for (int i = 0; i < calls.size(); i++) {
            handle.invoke(consumer, calls.get(i));
        }
    }
}
