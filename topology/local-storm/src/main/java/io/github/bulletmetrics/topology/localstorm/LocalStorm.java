package io.github.bulletmetrics.topology.localstorm;

import io.github.bulletmetrics.topology.localprocess.Program;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/**
 * The program: {@code java -jar local-storm.jar up|down|submit|kill|rebalance|workers|status}.
 *
 * <p>Exit codes: 0 done, 1 failed (one line on stderr states why and what to do), 2 wrong usage; {@code submit} passes
 * on the code of the class that it ran.
 */
@Command(name = "local-storm", mixinStandardHelpOptions = true,
        version = "local-storm, built beside build/bullet-metrics: see bullet-metrics version",
    description = "Runs a Storm cluster on this machine, each part in its own process.",
    subcommands = {UpCommand.class, DownCommand.class, SubmitCommand.class, KillCommand.class, RebalanceCommand.class,
        WorkersCommand.class, StatusCommand.class})
public final class LocalStorm {
    static final Program PROGRAM = new Program("local-storm");

    private LocalStorm() {
    }

    /** Runs one command and ends the JVM with its exit code. */
    public static void main(String[] args) {
        System.exit(commandLine().execute(args));
    }

    static CommandLine commandLine() {
        return PROGRAM.commandLine(new LocalStorm());
    }
}
