package io.github.bulletmetrics.topology.localkafka;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.IOException;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * The program: {@code java -jar local-kafka.jar up|create-topic|produce|status|down}.
 *
 * <p>Exit codes: 0 done, 1 failed (one line on stderr says why and what to do), 2 wrong usage; {@code produce} passes on the code of
 * the producer.
 */
@Command(name = "local-kafka", mixinStandardHelpOptions = true, version = "local-kafka 0.1.0",
    description = "Runs a Kafka broker on this machine, as a process of its own.",
    subcommands = {UpCommand.class, CreateTopicCommand.class, ProduceCommand.class, StatusCommand.class, DownCommand.class})
public final class LocalKafka {
    private static final Gson JSON = new GsonBuilder().disableHtmlEscaping().create();

    private LocalKafka() {
    }

    /** Runs one command and ends the JVM with its exit code. */
    public static void main(String[] args) {
        System.setProperty("log4j2.configurationFile", LocalKafka.class.getResource("client.xml").toString());
        System.exit(commandLine().execute(args));
    }

    static CommandLine commandLine() {
        return new CommandLine(new LocalKafka())
            .setAllowOptionsAsOptionParameters(true)
            .setExecutionExceptionHandler((failure, command, parsed) -> explain(failure));
    }

    /** An expected failure is one line; anything else is a bug and shows its stack. */
    private static int explain(Exception failure) {
        if (failure instanceof IOException) {
            progress(failure.getMessage() == null ? failure.toString() : failure.getMessage());
        } else {
            failure.printStackTrace();
        }
        return CommandLine.ExitCode.SOFTWARE;
    }

    /** Writes one plain line to stderr; stdout is for results only. */
    static void progress(String line) {
        System.err.println("local-kafka: " + line);
    }

    /** Writes one line of JSON to stdout. */
    static void print(Map<String, ?> result) {
        System.out.println(JSON.toJson(result));
        System.out.flush();
    }
}
