package io.github.bulletmetrics.topology.localstorm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.bulletmetrics.topology.localprocess.ProcessEntry;
import io.github.bulletmetrics.topology.localprocess.ProcessId;
import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClusterDirectoryTest {
    @TempDir
    private Path scratch;

    @Test
    void isTheSameThroughALinkAndWhetherOrNotItExists() throws IOException {
        Path real = Files.createDirectory(scratch.resolve("real")).toRealPath();
        Path link = Files.createSymbolicLink(scratch.resolve("link"), real);
        assertThat(ClusterDirectory.at(link.resolve("x/../c")).path()).isEqualTo(real.resolve("c"));
        Files.createDirectory(real.resolve("c"));
        assertThat(ClusterDirectory.at(link.resolve("c")).path()).isEqualTo(real.resolve("c"));
    }

    @Test
    void isHeldByTheProcessThatLockedIt() throws IOException {
        ClusterDirectory directory = ClusterDirectory.at(scratch.resolve("new/c"));
        assertThat(directory.holder()).isEmpty();
        try (FileLock lock = directory.tryLock().orElseThrow()) {
            assertThat(lock.isValid()).isTrue();
            assertThat(directory.holder()).map(ProcessEntry::pid).contains(ProcessHandle.current().pid());
        }
    }

    @Test
    void hasNoHolderWhenThePidWasGivenOutAgain() throws IOException {
        Files.writeString(scratch.resolve("local-storm.lock"), ProcessHandle.current().pid() + " 1");
        assertThat(ClusterDirectory.at(scratch).holder()).isEmpty();
    }

    @Test
    void isNeverOneWithFilesOfOthers() throws IOException {
        Files.writeString(scratch.resolve("letter.txt"), "dear");
        assertThatThrownBy(() -> ClusterDirectory.at(scratch).tryLock()).isInstanceOf(IOException.class)
            .hasMessageContaining("is not empty and was not made by local-storm");
        assertThat(scratch.resolve("local-storm.lock")).doesNotExist();
    }

    @Test
    void cleansWhatIsItsOwnAndFollowsNoLink() throws IOException {
        Path home = Files.createDirectories(scratch.resolve("home/lib"));
        Files.writeString(home.resolve("storm.jar"), "jar");
        Path dir = Files.createDirectory(scratch.resolve("c"));
        Files.createSymbolicLink(dir.resolve("lib"), home);
        Files.createDirectories(dir.resolve("storm-local/deep"));
        Files.createSymbolicLink(dir.resolve("storm-local/deep/link"), home);
        Files.writeString(dir.resolve("mine.txt"), "mine");

        ClusterDirectory.at(dir).clean();

        assertThat(dir).isDirectoryNotContaining("glob:**/{lib,storm-local}");
        assertThat(dir.resolve("mine.txt")).exists();
        assertThat(home.resolve("storm.jar")).exists();
    }

    @Test
    void keepsTheRecordOfItsCluster() throws IOException {
        ClusterDirectory directory = ClusterDirectory.at(scratch);
        assertThat(directory.record()).isEmpty();
        ClusterRecord record = new ClusterRecord(new Endpoints(1, 2, 3, List.of(4, 5), new DrpcServer(6, 7, 8, 9)),
                Map.of(), false)
            .with("nimbus", new ProcessId(10, 1000)).nowReady();
        record.save(directory.recordFile());
        assertThat(directory.record()).contains(record);
    }

    @Test
    void isReadyWhileALauncherLivesWhoseClusterIsUp() throws IOException {
        ClusterDirectory directory = ClusterDirectory.at(scratch.resolve("c"));
        assertThatThrownBy(directory::requireReady).hasMessageContaining("no cluster is up in");
        try (FileLock lock = directory.tryLock().orElseThrow()) {
            assertThat(lock.isValid()).isTrue();
            ClusterRecord starting = new ClusterRecord(new Endpoints(1, 2, 3, List.of(4), null), Map.of(), false);
            starting.save(directory.recordFile());
            assertThatThrownBy(directory::requireReady).hasMessageContaining("no cluster is up in");
            starting.nowReady().save(directory.recordFile());
            assertThat(directory.requireReady()).isEqualTo(starting.nowReady());
        }
    }

    @Test
    void isNotReadyWhenItsLauncherIsDead() throws IOException {
        Files.writeString(scratch.resolve("local-storm.lock"), ProcessHandle.current().pid() + " 1");
        ClusterDirectory directory = ClusterDirectory.at(scratch);
        new ClusterRecord(new Endpoints(1, 2, 3, List.of(4), null), Map.of(), true).save(directory.recordFile());
        assertThatThrownBy(directory::requireReady).hasMessageContaining("no cluster is up in");
    }

    @Test
    void refusesABrokenRecord() throws IOException {
        ClusterDirectory directory = ClusterDirectory.at(scratch);
        Files.writeString(directory.recordFile(), "nimbus.port=x\n");
        assertThatThrownBy(directory::record).isInstanceOf(IOException.class)
                .hasMessageContaining("is not a record of local-storm");
    }
}
