package io.github.bulletmetrics.topology.localprocess;

import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Path;
import picocli.CommandLine;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;

/**
 * A launcher as its user meets it. Exit codes: 0 done, 1 failed (one line on stderr has why and what to do), 2 wrong
 * usage.
 *
 * @param name what it is called by
 */
public record Program(String name) {

    /**
     * The commands of an object. An option takes the next argument whatever it looks like: {@code --opts -client} is
     * not {@code -c}.
     */
    public CommandLine commandLine(Object commands) {
        return new CommandLine(commands)
            .setAllowOptionsAsOptionParameters(true)
            .setExecutionExceptionHandler((failure, command, parsed) -> explain(failure));
    }

    /** An expected failure is one line; anything else is a bug and shows its stack. */
    private int explain(Exception failure) {
        if (failure instanceof IOException) {
            progress(failure.getMessage() == null ? failure.toString() : failure.getMessage());
        } else {
            failure.printStackTrace();
        }
        return CommandLine.ExitCode.SOFTWARE;
    }

    /** Writes one plain line to stderr; stdout is for results only. */
    public void progress(String line) {
        System.err.println(name + ": " + line);
    }

    /** Writes a result to stdout, as one line of JSON. */
    public static void print(Object result) {
        System.out.println(Json.write(result));
        System.out.flush();
    }

    /** Refuses a command line unless something holds. */
    public static void require(CommandSpec spec, boolean holds, String otherwise) {
        if (!holds) {
            throw new ParameterException(spec.commandLine(), otherwise);
        }
    }

    /** The {@code java} that runs the launcher. */
    public static String javaBinary() {
        return Path.of(System.getProperty("java.home"), "bin", "java").toString();
    }

    /** The jar (or directory of classes) that a class was loaded from. */
    public static Path jarOf(Class<?> type) {
        try {
            return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI());
        } catch (URISyntaxException e) {
            throw new IllegalStateException("the launcher's location is not a path", e);
        }
    }
}
