package io.github.bulletmetrics.topology.kafkatests;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A broker under the finished launcher, which ends with this process whatever becomes of it. */
final class LocalKafka implements AutoCloseable {
    private static final Path TOPOLOGY = Path.of(System.getProperty("topology.folder")).toAbsolutePath().normalize();
    private static final Path JAR = TOPOLOGY.resolve("local-kafka/target/local-kafka.jar");
    private static final Path TOPOLOGY_JAR = TOPOLOGY.resolve("bullet-topology/target/bullet-topology.jar");
    private static final int STOP_LIMIT_SECS = 20;

    private final Path dir;
    private final Process up;
    private final String bootstrap;

    /** Returns when it is up. */
    LocalKafka(Path dir) throws IOException {
        this.dir = dir;
        up = start("up", "--dir", dir.toString(), "--stop-with-stdin");
        bootstrap = result(up).get("bootstrap").getAsString();
    }

    String bootstrap() {
        return bootstrap;
    }

    /** Settings are the topic's, key=value. */
    void createTopic(String topic, int partitions, String... settings) throws IOException {
        List<String> arguments = new ArrayList<>(List.of("create-topic", "--dir", dir.toString(), "--topic", topic,
                "--partitions",
            Integer.toString(partitions)));
        for (String setting : settings) {
            arguments.addAll(List.of("-c", setting));
        }
        result(start(arguments.toArray(String[]::new)));
    }

    /** Starts a producer; {@link #result} is what it says at its end, {@link #end} ends one that would go on. */
    Process produce(String topic, String... options) throws IOException {
        List<String> arguments = new ArrayList<>(List.of("produce", "--dir", dir.toString(), "--jar",
                TOPOLOGY_JAR.toString(), "--",
            "--topic", topic));
        arguments.addAll(List.of(options));
        return start(arguments.toArray(String[]::new));
    }

    /**
     * Ends a producer and returns what it says. By its handle: a Process that is destroyed closes its stdout unread.
     */
    static JsonObject end(Process producer) throws IOException {
        producer.toHandle().destroy();
        return result(producer);
    }

    /** The next line of JSON that a process prints. */
    static JsonObject result(Process process) throws IOException {
        BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(),
                StandardCharsets.UTF_8));
        String line = out.readLine();
        if (line == null) {
            throw new IOException("the launcher ended without a result: see its stderr");
        }
        return new JsonParser().parse(line).getAsJsonObject();
    }

    private static Process start(String... arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java"),
                "-Xmx64m",
            "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", JAR.toString()));
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    @Override
    public void close() throws IOException {
        up.getOutputStream().close();
        try {
            if (!up.waitFor(STOP_LIMIT_SECS, TimeUnit.SECONDS)) {
                throw new IOException("the launcher does not stop");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
