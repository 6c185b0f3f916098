package io.github.bulletmetrics.topology.localprocess;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Reads the processes of this machine from {@code /proc} (proc(5)). */
public final class ProcessTable {
    private static final int START_TIME_FIELD = 22;

    private final Path proc;

    public ProcessTable() {
        this(Path.of("/proc"));
    }

    /** Reads another root; for tests. */
    ProcessTable(Path proc) {
        this.proc = proc;
    }

    /**
     * The live processes that carry the marker, by ascending pid. A zombie has no command line, so it is not among
     * them.
     */
    public List<ProcessEntry> marked(Marker marker) throws IOException {
        List<ProcessEntry> found = new ArrayList<>();
        try (DirectoryStream<Path> directories = Files.newDirectoryStream(proc, "[0-9]*")) {
            for (Path directory : directories) {
                find(Long.parseLong(directory.getFileName().toString()))
                    .filter(process -> marker.marks(process.commandLine()))
                    .ifPresent(found::add);
            }
        }
        found.sort((a, b) -> Long.compare(a.pid(), b.pid()));
        return found;
    }

    /** The process with this pid; empty when there is none, when it is a zombie, or when it ended while being read. */
    public Optional<ProcessEntry> find(long pid) {
        Path directory = proc.resolve(Long.toString(pid));
        try {
            List<String> commandLine = splitCommandLine(Files.readAllBytes(directory.resolve("cmdline")));
            if (commandLine.isEmpty()) {
                return Optional.empty();
            }
            return startTicks(pid).map(startTicks -> new ProcessEntry(pid, startTicks, commandLine));
        } catch (IOException gone) {
            return Optional.empty();
        }
    }

    /** When the process was started; empty when there is none. Known from the fork on, unlike the command line. */
    public Optional<Long> startTicks(long pid) {
        try {
            String stat = Files.readString(proc.resolve(Long.toString(pid)).resolve("stat"),
                    StandardCharsets.ISO_8859_1);
            return Optional.of(parseStartTicks(stat));
        } catch (IOException gone) {
            return Optional.empty();
        }
    }

    private static List<String> splitCommandLine(byte[] content) {
        String text = new String(content, StandardCharsets.UTF_8);
        return text.isEmpty() ? List.of() : List.of(text.split("\0"));
    }

    /** Field 22; the second field, the program's name in parentheses, may itself hold blanks and parentheses. */
    private static long parseStartTicks(String stat) {
        String[] fromThird = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return Long.parseLong(fromThird[START_TIME_FIELD - 3]);
    }
}
