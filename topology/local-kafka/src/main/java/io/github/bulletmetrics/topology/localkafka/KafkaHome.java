package io.github.bulletmetrics.topology.localkafka;

import io.github.bulletmetrics.topology.localprocess.Program;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.Uuid;

/**
 * The distribution that Maven puts together, {@code kafka/lib} beside the launcher's jar, and the command lines that
 * run it.
 */
record KafkaHome(Path path) {
    private static final int FORMAT_HEAP_MIB = 64;

    /** The distribution beside the jar (or the directory of classes) that this launcher runs from. */
    static KafkaHome besideTheJar() {
        return new KafkaHome(Program.jarOf(LocalKafka.class).resolveSibling("kafka"));
    }

    /** @throws IOException when there is no Kafka */
    KafkaHome check() throws IOException {
        Path lib = path.resolve("lib");
        if (!Files.isDirectory(lib) || isMissing(lib)) {
            throw new IOException(lib
                    + "/kafka_2.13-*.jar is missing: build the distribution (mvn package in topology/local-kafka, or make"
                + " build), or set --home");
        }
        return this;
    }

    private static boolean isMissing(Path lib) throws IOException {
        try (DirectoryStream<Path> matches = Files.newDirectoryStream(lib, "kafka_2.13-*.jar")) {
            return !matches.iterator().hasNext();
        }
    }

    /** Makes an empty directory one of a new Kafka cluster. */
    List<String> format(BrokerDirectory directory) {
        List<String> command = java(directory, FORMAT_HEAP_MIB);
        command.addAll(List.of("kafka.tools.StorageTool", "format", "--standalone", "-t", Uuid.randomUuid().toString(),
            "-c", directory.config().toString()));
        return command;
    }

    List<String> broker(BrokerDirectory directory, int heapMib) {
        List<String> command = java(directory, heapMib);
        command.addAll(List.of("kafka.Kafka", directory.config().toString()));
        return command;
    }

    /** Serial collection and the quick compiler: the broker must start soon and take little from what reads from it. */
    private List<String> java(BrokerDirectory directory, int heapMib) {
        return new ArrayList<>(List.of(Program.javaBinary(), directory.marker().argument(),
            "-Xmx" + heapMib + "m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+ExitOnOutOfMemoryError",
            "-Djava.net.preferIPv4Stack=true", "-Dlog4j2.configurationFile="
            + LocalKafka.class.getResource("broker.xml"),
            "-cp", path.toAbsolutePath().resolve("lib") + "/*"));
    }
}
