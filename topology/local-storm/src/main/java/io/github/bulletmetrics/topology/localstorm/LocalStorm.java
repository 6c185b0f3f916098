package io.github.bulletmetrics.topology.localstorm;

import java.io.IOException;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * The program: {@code java -jar local-storm.jar up|down|submit|kill|rebalance|workers|status}.
 *
 * <p>Exit codes: 0 done, 1 failed (one line on stderr says why and what to do), 2 wrong usage; {@code submit} passes on the
 * code of the class that it ran.
 */
@Command(name = "local-storm", mixinStandardHelpOptions = true, version = "local-storm 0.1.0",
    description = "Runs a Storm cluster on this machine, as processes of their own.",
    subcommands = {UpCommand.class, DownCommand.class, SubmitCommand.class, KillCommand.class, RebalanceCommand.class,
        WorkersCommand.class, StatusCommand.class})
public final class LocalStorm {
    private LocalStorm() {
    }

    /** Runs one command and ends the JVM with its exit code. */
    public static void main(String[] args) {
        System.exit(commandLine().execute(args));
    }

    /** An option takes the next argument whatever it looks like: {@code --worker-opts -client} is not {@code -c lient}. */
    static CommandLine commandLine() {
        return new CommandLine(new LocalStorm())
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
        System.err.println("local-storm: " + line);
    }
}
