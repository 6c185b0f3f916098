package io.github.bulletmetrics.topology.localstorm;

import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Properties;

/**
 * The distribution that Maven puts together ({@code lib}, {@code lib-worker}), and how a cluster's directory is made
 * from it.
 */
record StormHome(Path path) {

    /** @throws IOException when there is no Storm at the path */
    static StormHome at(Path path) throws IOException {
        Path home = path.toAbsolutePath().normalize();
        for (String part : List.of("lib/storm-server-*.jar", "lib-worker/storm-client-*.jar")) {
            Path pattern = home.resolve(part);
            if (!Files.isDirectory(pattern.getParent())
                    || !anyMatch(pattern.getParent(), pattern.getFileName().toString())) {
                throw new IOException(pattern
                        + " is missing: build the distribution (mvn package in topology/local-storm) and set"
                    + " --home to its target/storm");
            }
        }
        return new StormHome(home);
    }

    /** Fills a clean directory: links to the jars, copies of the extlib jars, and the configuration. */
    void equip(ClusterDirectory directory, ClusterSettings settings, Endpoints endpoints) throws IOException {
        for (String name : List.of("extlib", "conf", "log4j2", "storm-local", "zookeeper", "logs")) {
            Files.createDirectories(directory.child(name));
        }
        for (String name : List.of("lib", "lib-worker")) {
            Files.createSymbolicLink(directory.child(name), path.resolve(name));
        }
        for (Path jar : settings.extlib()) {
            // A copy: a jar that is built again under a running JVM breaks it.
            Files.copy(jar, directory.child("extlib").resolve(jar.getFileName()), StandardCopyOption.REPLACE_EXISTING);
        }
        for (String name : List.of("cluster.xml", "worker.xml", "client.xml")) {
            copyResource("log4j2/" + name, directory.child("log4j2").resolve(name));
        }
        Files.writeString(directory.child("conf").resolve("storm.yaml"),
                StormYaml.render(settings.storm(directory, endpoints)));
        Files.writeString(directory.child("conf").resolve("hosts"),
            Endpoints.HOST + " localhost " + Files.readString(Path.of("/proc/sys/kernel/hostname")));
        writeZooKeeperConfig(directory, endpoints);
    }

    private static void writeZooKeeperConfig(ClusterDirectory directory, Endpoints endpoints) throws IOException {
        Properties zoo = new Properties();
        zoo.setProperty("dataDir", directory.child("zookeeper").toString());
        zoo.setProperty("clientPort", Integer.toString(endpoints.zookeeperPort()));
        zoo.setProperty("clientPortAddress", Endpoints.HOST);
        zoo.setProperty("tickTime", "2000");
        zoo.setProperty("maxClientCnxns", "0");
        zoo.setProperty("admin.enableServer", "false");
        try (Writer writer = Files.newBufferedWriter(directory.child("conf").resolve("zoo.cfg"))) {
            zoo.store(writer, null);
        }
    }

    private static void copyResource(String name, Path target) throws IOException {
        try (InputStream resource = StormHome.class.getResourceAsStream(name)) {
            Files.copy(resource, target);
        }
    }

    private static boolean anyMatch(Path directory, String glob) throws IOException {
        try (DirectoryStream<Path> matches = Files.newDirectoryStream(directory, glob)) {
            return matches.iterator().hasNext();
        }
    }
}
