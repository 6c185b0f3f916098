package io.github.bulletmetrics.topology.localstorm;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Optional;

/**
 * The directory of one cluster: a Storm home of its own ({@code lib}, {@code lib-worker}, {@code extlib}, {@code conf},
 * {@code log4j2}) with the cluster's state and logs. One launcher at a time holds it, by a lock on a file in it.
 */
final class ClusterDirectory {
    private static final List<String> OWN = List.of("lib", "lib-worker", "extlib", "conf", "log4j2",
        "storm-local", "zookeeper", "logs", "cluster.properties", "cluster.properties.new");

    private final Path path;

    private ClusterDirectory(Path path) {
        this.path = path;
    }

    /** The directory at this path, which need not exist; the same one however it is written (relative, through links). */
    static ClusterDirectory at(Path path) throws IOException {
        Path absolute = path.toAbsolutePath().normalize();
        Path existing = absolute;
        while (!Files.exists(existing)) {
            existing = existing.getParent();
        }
        return new ClusterDirectory(existing.toRealPath().resolve(existing.relativize(absolute)).normalize());
    }

    Path path() {
        return path;
    }

    Path child(String name) {
        return path.resolve(name);
    }

    Path log(String name) {
        return path.resolve("logs").resolve(name);
    }

    Marker marker() {
        return Marker.of(path);
    }

    Path recordFile() {
        return child("cluster.properties");
    }

    /** The record of the launcher that used the directory last; empty when there is none. */
    Optional<ClusterRecord> record() throws IOException {
        return Files.exists(recordFile()) ? Optional.of(ClusterRecord.load(recordFile())) : Optional.empty();
    }

    /**
     * The record of the cluster that runs here.
     *
     * @throws IOException when no launcher lives, or its cluster has not come up yet
     */
    ClusterRecord requireReady() throws IOException {
        Optional<ClusterRecord> ready = holder().isPresent() ? record().filter(ClusterRecord::ready) : Optional.empty();
        return ready.orElseThrow(() -> new IOException("no cluster is up in " + path + ": start one with local-storm up --dir " + path));
    }

    /**
     * Takes the directory for this process until the process ends, or the lock is closed, and creates it where it is missing.
     *
     * @return empty when a live launcher holds it
     * @throws IOException also when the directory holds files but was never one of a cluster
     */
    Optional<FileLock> tryLock() throws IOException {
        if (!Files.exists(lockFile()) && Files.isDirectory(path) && !isEmpty()) {
            throw new IOException(path + " is not empty and was not made by local-storm: give a directory of its own");
        }
        Files.createDirectories(path);
        FileChannel channel = FileChannel.open(lockFile(), StandardOpenOption.CREATE, StandardOpenOption.READ,
            StandardOpenOption.WRITE);
        FileLock lock = channel.tryLock();
        if (lock == null) {
            channel.close();
            return Optional.empty();
        }
        ProcessEntry self = new ProcessTable().find(ProcessHandle.current().pid())
            .orElseThrow(() -> new IOException("cannot read /proc: local-storm runs on Linux only"));
        channel.truncate(0);
        channel.write(ByteBuffer.wrap((self.pid() + " " + self.startTicks()).getBytes(StandardCharsets.US_ASCII)), 0);
        return Optional.of(lock);
    }

    boolean hasLockFile() {
        return Files.exists(lockFile());
    }

    /** The live process that took the lock last; empty when there is none. */
    Optional<ProcessEntry> holder() throws IOException {
        String[] parts = hasLockFile() ? Files.readString(lockFile()).trim().split(" ") : new String[0];
        if (parts.length != 2) {
            return Optional.empty();
        }
        long startTicks = Long.parseLong(parts[1]);
        return new ProcessTable().find(Long.parseLong(parts[0])).filter(process -> process.startTicks() == startTicks);
    }

    /** Removes what an earlier cluster left; never a file that is not its own, never through a link. */
    void clean() throws IOException {
        for (String name : OWN) {
            remove(child(name));
        }
    }

    private Path lockFile() {
        return child("local-storm.lock");
    }

    private boolean isEmpty() throws IOException {
        try (var files = Files.list(path)) {
            return files.findAny().isEmpty();
        }
    }

    private static void remove(Path root) throws IOException {
        if (!Files.exists(root, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.delete(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, IOException failure) throws IOException {
                if (failure != null) {
                    throw failure;
                }
                Files.delete(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }
}
