package io.github.bulletmetrics.topology.localkafka;

import java.io.IOException;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** Ends whatever runs for a directory: a live launcher by asking it to stop, the leftovers of a dead one itself. */
@Command(name = "down", mixinStandardHelpOptions = true,
    description = "Ends the broker of a directory, also what a killed launcher left behind; 0 also when there was nothing.")
final class DownCommand implements Callable<Integer> {
    /** A launcher stops its broker within 10 s. */
    private static final Duration LAUNCHER_LIMIT = Duration.ofSeconds(15);
    private static final Duration KILLED_LIMIT = Duration.ofSeconds(5);
    private static final long POLL_MS = 50;

    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of the broker.")
    private Path dir;

    @Override
    public Integer call() throws IOException, InterruptedException {
        BrokerDirectory directory = BrokerDirectory.at(dir);
        if (directory.hasLockFile()) {
            try (FileLock lock = lockFromLauncher(directory)) {
                endLeftovers(directory);
                directory.removeData();
            }
        } else {
            endLeftovers(directory);
        }
        return 0;
    }

    private static FileLock lockFromLauncher(BrokerDirectory directory) throws IOException, InterruptedException {
        Optional<FileLock> lock = directory.tryLock();
        if (lock.isEmpty()) {
            LocalKafka.progress("asking the launcher to stop");
            directory.holder().ifPresent(ProcessHandle::destroy);
            lock = await(directory, LAUNCHER_LIMIT);
        }
        if (lock.isEmpty()) {
            LocalKafka.progress("the launcher does not stop: killing it");
            directory.holder().ifPresent(ProcessHandle::destroyForcibly);
            lock = await(directory, KILLED_LIMIT);
        }
        return lock.orElseThrow(() -> new IOException(directory.path() + " is still held by another process"));
    }

    private static Optional<FileLock> await(BrokerDirectory directory, Duration limit) throws IOException, InterruptedException {
        long start = System.nanoTime();
        Optional<FileLock> lock = directory.tryLock();
        while (lock.isEmpty() && System.nanoTime() - start < limit.toNanos()) {
            TimeUnit.MILLISECONDS.sleep(POLL_MS);
            lock = directory.tryLock();
        }
        return lock;
    }

    private static void endLeftovers(BrokerDirectory directory) throws IOException {
        int ended = Broker.end(directory);
        LocalKafka.progress(ended == 0 ? "nothing is left running" : "ended " + ended + " processes");
    }
}
