package io.github.bulletmetrics.topology.compat;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** {@code make compat}: all Storms, the table on the terminal and, where all of them ran, in the documentation. */
public final class CompatMain {
    private static final long LIFE_LIMIT_MS = 180_000;
    private static final String MARK = "<!-- From here on it is written by make compat. -->";

    private CompatMain() {
    }

    /**
     * Exits with 0 when every cell is ticked, 1 when one is not, 2 for wrong usage.
     *
     * @param arguments the folder for logs and data, the page of the documentation, and the Storms' lines, such as 1.0
     *     and 2.8; all for none.
     */
    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        if (arguments.length < 2) {
            System.err.println("usage: CompatMain FOLDER PAGE [LINE...]");
            System.exit(2);
        }
        List<String> lines = Arrays.asList(arguments).subList(2, arguments.length);
        List<Setup> setups = Setup.on(Jdk.others(System.getProperty("java.homes", ""))).stream()
                .filter(setup -> lines.isEmpty() || lines.contains(setup.line()))
                .toList();
        if (setups.isEmpty()) {
            System.err.println("no such Storm: there are " + Setup.ALL.stream().map(Setup::line).distinct().toList());
            System.exit(2);
        }
        Path folder = Files.createTempDirectory(Files.createDirectories(Path.of(arguments[0])).toAbsolutePath(),
                "run-");
        out.println("logs and data: " + folder);
        Matrix matrix = Matrix.of(setups, folder, LIFE_LIMIT_MS, new Progress(out));
        MatrixPage page = new MatrixPage(matrix);
        out.println();
        out.print(page.table());
        if (lines.isEmpty()) {
            write(Path.of(arguments[1]), page.markdown());
        } else {
            out.println("Not all Storms ran: " + arguments[1] + " is left as it is.");
        }
        for (Setup setup : setups) {
            Cell names = matrix.names().check(setup);
            if (!names.ok()) {
                out.println("✗ names of Storm " + setup.storm() + ", " + setup.runs() + ": " + names.says());
            }
        }
        if (matrix.unknown() != 0) {
            out.println("✗ series that are not in the catalog: " + matrix.unknown());
        }
        System.exit(matrix.isAllTicked() ? 0 : 1);
    }

    /** Keeps what the page says before the mark. */
    private static void write(Path page, String matrix) throws IOException {
        String text = Files.readString(page);
        int mark = text.indexOf(MARK);
        if (mark < 0) {
            throw new IOException(page + " has no line " + MARK);
        }
        Files.writeString(page, text.substring(0, mark) + MARK + "\n\n" + matrix);
    }
}
