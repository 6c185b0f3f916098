package io.github.bulletmetrics.topology.localprocess;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;

/**
 * The argument that every JVM of one server carries, so that it can be found again in {@code /proc} by its directory,
 * even when the launcher was killed or the directory removed.
 *
 * <p>It is the directory's path with every byte outside {@code A-Za-z0-9/._-} written as {@code =XX}: readable in
 * {@code ps}, one to one, and without the blanks and per cent signs that Storm would split or replace in a worker's
 * options.
 */
public record Marker(String argument) {
    private static final String PLAIN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";

    /** The marker of an absolute path: a system property that is called after the program. */
    public static Marker of(Program program, Path directory) {
        StringBuilder argument = new StringBuilder("-D" + program.name().replace('-', '.') + ".dir=");
        for (byte b : directory.toString().getBytes(StandardCharsets.UTF_8)) {
            if (PLAIN.indexOf(b) >= 0) {
                argument.append((char) b);
            } else {
                argument.append(String.format("=%02X", b));
            }
        }
        return new Marker(argument.toString());
    }

    /** Whether a command line carries exactly this marker; a directory below this one has another. */
    public boolean marks(List<String> commandLine) {
        return commandLine.contains(argument);
    }
}
