package io.github.bulletmetrics.topology.localprocess;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProcessTableTest {
    private static final Marker MARKER = Marker.of(new Program("local-storm"), Path.of("/c"));
    private static final String WORKER = "org.apache.storm.daemon.worker.Worker";

    @TempDir
    private Path proc;

    @Test
    void findsTheMarkedProcessesByAscendingPid() throws IOException {
        process(1000, "java", "java", MARKER.argument(), "org.apache.storm.daemon.supervisor.Supervisor");
        process(20, "java", "java", MARKER.argument(), WORKER, "wc-1-17", "6700");
        process(30, "java", "java", "-Dlocal.storm.dir=/other", WORKER);
        process(40, "zombie");
        Files.createDirectories(proc.resolve("50"));
        Files.createDirectories(proc.resolve("self"));

        List<ProcessEntry> marked = new ProcessTable(proc).marked(MARKER);

        assertThat(marked).extracting(ProcessEntry::pid).containsExactly(20L, 1000L);
        assertThat(marked.get(0).commandLine()).containsExactly("java", MARKER.argument(), WORKER, "wc-1-17", "6700");
    }

    @Test
    void readsTheStartOfAProgramWithBlanksAndParenthesesInItsName() throws IOException {
        process(7, "a) (b 1 2", "a) (b 1 2");
        assertThat(new ProcessTable(proc).find(7).orElseThrow().startTicks()).isEqualTo(4242);
    }

    @Test
    void takesTheLastOfRepeatedProperties() {
        ProcessEntry process = new ProcessEntry(1, 1, List.of("java", "-Dworker.port=1", "-Dworker.port=2",
                "-Dworker.port.x=3"));
        assertThat(process.property("worker.port")).contains("2");
        assertThat(process.property("worker")).isEmpty();
    }

    @Test
    void readsThisVeryProcess() {
        ProcessEntry self = new ProcessTable().find(ProcessHandle.current().pid()).orElseThrow();
        assertThat(self.commandLine().get(0)).endsWith("java");
        assertThat(self.startTicks()).isPositive();
    }

    private void process(long pid, String name, String... commandLine) throws IOException {
        Path directory = Files.createDirectories(proc.resolve(Long.toString(pid)));
        Files.writeString(directory.resolve("cmdline"), commandLine.length == 0 ? "" : String.join("\0", commandLine)
                + "\0");
        Files.writeString(directory.resolve("stat"),
            pid + " (" + name + ") S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 19 20\n");
    }
}
