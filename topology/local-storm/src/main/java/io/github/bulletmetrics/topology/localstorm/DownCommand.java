package io.github.bulletmetrics.topology.localstorm;

import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Ends whatever runs for a directory: a live launcher by asking it to stop, the leftovers of a dead one itself. */
@Command(name = "down", mixinStandardHelpOptions = true,
    description = "Ends the cluster of a directory, also what a killed launcher left behind; 0 also when there was nothing.")
final class DownCommand implements Callable<Integer> {
    /** A launcher stops its cluster within 20 s. */
    private static final Duration LAUNCHER_LIMIT = Duration.ofSeconds(25);
    private static final Duration KILLED_LIMIT = Duration.ofSeconds(5);

    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of the cluster.")
    private Path dir;

    @Override
    public Integer call() throws IOException {
        ClusterDirectory directory = ClusterDirectory.at(dir);
        if (directory.hasLockFile()) {
            try (FileLock lock = lockFromLauncher(directory)) {
                endLeftovers(directory);
            }
        } else {
            endLeftovers(directory);
        }
        return 0;
    }

    private static FileLock lockFromLauncher(ClusterDirectory directory) throws IOException {
        Optional<FileLock> lock = directory.tryLock();
        if (lock.isEmpty()) {
            LocalStorm.progress("asking the launcher to stop");
            directory.holder().flatMap(holder -> ProcessHandle.of(holder.pid())).ifPresent(ProcessHandle::destroy);
            lock = Deadline.in(LAUNCHER_LIMIT).poll(directory::tryLock);
        }
        if (lock.isEmpty()) {
            LocalStorm.progress("the launcher does not stop: killing it");
            directory.holder().flatMap(holder -> ProcessHandle.of(holder.pid())).ifPresent(ProcessHandle::destroyForcibly);
            lock = Deadline.in(KILLED_LIMIT).poll(directory::tryLock);
        }
        return lock.orElseThrow(() -> new IOException(directory.path() + " is still held by another process"));
    }

    private static void endLeftovers(ClusterDirectory directory) throws IOException {
        int ended = Leftovers.of(directory).end();
        LocalStorm.progress(ended == 0 ? "nothing is left running" : "ended " + ended + " processes");
    }
}
