package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Program;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Loads the one class that speaks Storm's Thrift together with the distribution's client jars, in this JVM: so the
 * launcher's jar carries no Storm, and asking Nimbus costs no JVM start.
 */
final class NimbusConnector {
    private static final String BRIDGE = "io.github.bulletmetrics.topology.localstorm.thrift.";

    private NimbusConnector() {
    }

    /** Nothing is asked of Nimbus yet; it need not run. The calling thread's context class loader becomes Storm's. */
    static Nimbus connect(ClusterDirectory directory, Endpoints endpoints) throws IOException {
        System.setProperty("log4j2.configurationFile", directory.child("log4j2").resolve("client.xml").toString());
        System.setProperty("local.storm.client.level", "error");
        ClassLoader loader = new StormClassLoader(jars(directory.child("lib-worker")));
        Thread.currentThread().setContextClassLoader(loader);
        try {
            return (Nimbus) loader.loadClass(BRIDGE + "ThriftNimbus").getConstructor(String.class, int.class)
                .newInstance(Endpoints.HOST, endpoints.nimbusPort());
        } catch (InvocationTargetException e) {
            throw new IOException("cannot load Storm's client from " + directory.child("lib-worker"), e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IOException("cannot load Storm's client from " + directory.child("lib-worker"), e);
        }
    }

    private static URL[] jars(Path directory) throws IOException {
        List<URL> urls = new ArrayList<>();
        urls.add(Program.jarOf(LocalStorm.class).toUri().toURL());
        if (!Files.isDirectory(directory)) {
            throw new IOException(directory + " is missing: no cluster has been started in this directory");
        }
        try (DirectoryStream<Path> jars = Files.newDirectoryStream(directory, "*.jar")) {
            for (Path jar : jars) {
                urls.add(jar.toUri().toURL());
            }
        }
        return urls.toArray(URL[]::new);
    }

    /** Defines the bridge's classes itself, beside Storm's, though the launcher's own loader could find them too. */
    private static final class StormClassLoader extends URLClassLoader {
        StormClassLoader(URL[] urls) {
            super(urls, NimbusConnector.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith(BRIDGE)) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded != null ? loaded : findClass(name);
            }
        }
    }
}
