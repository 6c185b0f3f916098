package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Program;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The command lines of the cluster's JVMs, all run by the {@code java} that runs the launcher. */
final class JvmCommand {
    private static final int ZOOKEEPER_HEAP_MIB = 64;
    private static final int NIMBUS_HEAP_MIB = 192;
    private static final int SUPERVISOR_HEAP_MIB = 128;
    private static final int DRPC_HEAP_MIB = 128;
    private static final int SUBMITTER_HEAP_MIB = 256;

    private final ClusterDirectory directory;

    JvmCommand(ClusterDirectory directory) {
        this.directory = directory;
    }

    List<String> zookeeper() {
        List<String> command = java(ZOOKEEPER_HEAP_MIB, "zookeeper.log", "cluster.xml", wildcard("lib"));
        // The state is thrown away with the cluster: no sync of the log, and 1 MiB of it at a time instead of 64.
        command.addAll(List.of("-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024",
            "org.apache.storm.shade.org.apache.zookeeper.server.ZooKeeperServerMain",
            directory.child("conf").resolve("zoo.cfg").toString()));
        return command;
    }

    List<String> nimbus() {
        return stormDaemon(NIMBUS_HEAP_MIB, "nimbus.log", "org.apache.storm.daemon.nimbus.Nimbus");
    }

    List<String> supervisor() {
        return stormDaemon(SUPERVISOR_HEAP_MIB, "supervisor.log", "org.apache.storm.daemon.supervisor.Supervisor");
    }

    List<String> drpc(int httpThreads) {
        List<String> command = stormDaemon(DRPC_HEAP_MIB, "drpc.log",
                "io.github.bulletmetrics.topology.localstorm.drpc.DrpcDaemon");
        command.add(Integer.toString(httpThreads));
        return command;
    }

    /** A main class that submits a topology, with Storm's client class path, the extlib jars and the topology's jar. */
    List<String> submitter(Path jar, String mainClass, String stormOptions, List<String> arguments) {
        List<String> command = java(SUBMITTER_HEAP_MIB, "submit.log", "client.xml", wildcard("lib-worker"),
                wildcard("extlib"),
            jar.toString(), directory.child("conf").toString());
        command.addAll(List.of("-Dstorm.jar=" + jar, "-Dstorm.options=" + stormOptions, mainClass));
        command.addAll(arguments);
        return command;
    }

    private List<String> stormDaemon(int heapMib, String log, String mainClass) {
        List<String> command = java(heapMib, log, "cluster.xml", directory.child("conf").toString(), wildcard("lib"),
                loopbackJar(),
            wildcard("extlib"));
        // Nimbus asks for this machine's name and would not start where it does not resolve; no other name is ever
        // asked for.
        command.addAll(List.of("-Djdk.net.hosts.file=" + directory.child("conf").resolve("hosts"), "-Dstorm.options=",
                mainClass));
        return command;
    }

    /** Serial collection and the quick compiler: these processes must start soon and take little from the workers. */
    private List<String> java(int heapMib, String log, String log4j, String... classPath) {
        return new ArrayList<>(List.of(Program.javaBinary(), directory.marker().argument(),
            "-Xmx" + heapMib + "m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError",
            "-Djava.net.preferIPv4Stack=true",
            "-Dstorm.home=" + directory.path(), "-Dstorm.log.dir=" + directory.child("logs"), "-Dstorm.conf.file=",
            "-Dlogfile.name=" + log, "-Dlog4j2.configurationFile=" + directory.child("log4j2").resolve(log4j),
            "-cp", String.join(":", classPath)));
    }

    private String loopbackJar() {
        return directory.child("lib-worker").resolve("local-storm-loopback.jar").toString();
    }

    private String wildcard(String name) {
        return directory.child(name) + "/*";
    }

    /** Runs workers by the same JDK, and keeps settings of another Storm on this machine out. */
    static void environment(Map<String, String> environment) {
        environment.keySet().removeIf(name -> name.startsWith("STORM_"));
        environment.put("JAVA_HOME", System.getProperty("java.home"));
    }
}
