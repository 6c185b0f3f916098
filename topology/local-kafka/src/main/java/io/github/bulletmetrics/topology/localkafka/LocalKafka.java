package io.github.bulletmetrics.topology.localkafka;

import io.github.bulletmetrics.topology.localprocess.Program;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * The program: {@code java -jar local-kafka.jar up|create-topic|produce|status|down}.
 *
 * <p>Exit codes: 0 done, 1 failed (one line on stderr states why and what to do), 2 wrong usage; {@code produce} passes
 * on the code of the producer.
 */
@Command(name = "local-kafka", mixinStandardHelpOptions = true,
        version = "local-kafka, built beside build/bullet-metrics: see bullet-metrics version",
    description = "Runs a Kafka broker on this machine in its own process.",
    subcommands = {UpCommand.class, CreateTopicCommand.class, ProduceCommand.class, StatusCommand.class,
    DownCommand.class})
public final class LocalKafka {
    static final Program PROGRAM = new Program("local-kafka");

    private LocalKafka() {
    }

    /** Runs one command and ends the JVM with its exit code. */
    public static void main(String[] args) {
        System.setProperty("log4j2.configurationFile", LocalKafka.class.getResource("client.xml").toString());
        System.exit(commandLine().execute(args));
    }

    static CommandLine commandLine() {
        return PROGRAM.commandLine(new LocalKafka());
    }
}
