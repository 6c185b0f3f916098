package io.github.bulletmetrics.topology.localprocess;

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
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The directory of one server: its state, its configuration, its logs. One launcher at a time holds it, by a lock on a
 * file in it. Every process of the server carries its {@link #marker}, so that it can be found again whatever became of
 * its launcher.
 */
public abstract class ProcessDirectory {
    private static final Duration KILLED_LIMIT = Duration.ofSeconds(5);

    private final Program program;
    private final Path path;
    private final List<String> own;

    /**
     * The directory at a path, which need not exist; the same one however it is written (relative, through links).
     *
     * @param own the names of what a server has in it, which {@link #clean} removes
     */
    protected ProcessDirectory(Program program, Path path, List<String> own) throws IOException {
        Path absolute = path.toAbsolutePath().normalize();
        Path existing = absolute;
        while (!Files.exists(existing)) {
            existing = existing.getParent();
        }
        this.program = program;
        this.path = existing.toRealPath().resolve(existing.relativize(absolute)).normalize();
        this.own = own;
    }

    /** All that runs for the directory now. */
    public abstract Leftovers leftovers() throws IOException;

    public final Path path() {
        return path;
    }

    public final Path child(String name) {
        return path.resolve(name);
    }

    public final Path log(String name) {
        return path.resolve("logs").resolve(name);
    }

    public final Marker marker() {
        return Marker.of(program, path);
    }

    /**
     * Takes the directory for this process until the process ends, or the lock is closed, and creates it where it is
     * missing.
     *
     * @return empty when a live launcher holds it
     * @throws IOException also when the directory holds files but was never one of this program
     */
    public final Optional<FileLock> tryLock() throws IOException {
        if (!hasLockFile() && Files.isDirectory(path) && !isEmpty()) {
            throw new IOException(path + " is not empty and was not made by " + program.name()
                    + "; use another directory");
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
            .orElseThrow(() -> new IOException("cannot read /proc: " + program.name() + " runs on Linux only"));
        channel.truncate(0);
        channel.write(ByteBuffer.wrap((self.pid() + " " + self.startTicks()).getBytes(StandardCharsets.US_ASCII)), 0);
        return Optional.of(lock);
    }

    /**
     * Takes the directory for a server that is to be started.
     *
     * @param server what the server is called, for the error where one runs
     */
    public final FileLock lockFor(String server) throws IOException {
        return tryLock().orElseThrow(() -> new IOException(path + " is used by a running " + server + "; stop it ("
            + program.name() + " down --dir " + path + ") or use another directory"));
    }

    public final boolean hasLockFile() {
        return Files.exists(lockFile());
    }

    /** The live process that took the lock last; empty when there is none. */
    public final Optional<ProcessEntry> holder() throws IOException {
        String[] parts = hasLockFile() ? Files.readString(lockFile()).trim().split(" ") : new String[0];
        if (parts.length != 2) {
            return Optional.empty();
        }
        long startTicks = Long.parseLong(parts[1]);
        return new ProcessTable().find(Long.parseLong(parts[0])).filter(process -> process.startTicks() == startTicks);
    }

    /** Ends what an earlier launcher left, which is nothing as a rule. */
    public final void endLeftovers() throws IOException {
        int ended = leftovers().end();
        if (ended > 0) {
            program.progress("ended " + ended + " processes that an earlier launcher had left");
        }
    }

    /** Whether a launcher lives, and its pid, or the pids of what one left; in the order in which a status has them. */
    public final Map<String, Object> status() throws IOException {
        Optional<ProcessEntry> launcher = holder();
        Map<String, Object> status = Json.object("dir", path, "running", launcher.isPresent());
        if (launcher.isPresent()) {
            status.put("launcher_pid", launcher.get().pid());
        } else {
            status.put("leftover_pids", leftovers().alive().stream().map(ProcessEntry::pid).toList());
        }
        return status;
    }

    /**
     * Ends whatever runs for the directory: a live launcher by a request to stop, the leftovers of a dead one itself.
     *
     * @param launcherLimit how long a launcher may take to stop its server
     */
    public final void down(Duration launcherLimit) throws IOException {
        if (hasLockFile()) {
            try (FileLock lock = lockFromLauncher(launcherLimit)) {
                sweep();
                removeState();
            }
        } else {
            sweep();
        }
    }

    /** Removes what is of no use once the server has ended, where there is any such; the lock is held. */
    protected void removeState() throws IOException {
    }

    private void sweep() throws IOException {
        int ended = leftovers().end();
        program.progress(ended == 0 ? "no process was running" : "ended " + ended + " processes");
    }

    private FileLock lockFromLauncher(Duration limit) throws IOException {
        Optional<FileLock> lock = tryLock();
        if (lock.isEmpty()) {
            program.progress("asking the launcher to stop");
            holder().flatMap(holder -> ProcessHandle.of(holder.pid())).ifPresent(ProcessHandle::destroy);
            lock = Deadline.in(limit).poll(this::tryLock);
        }
        if (lock.isEmpty()) {
            program.progress("the launcher does not stop; killing it");
            holder().flatMap(holder -> ProcessHandle.of(holder.pid())).ifPresent(ProcessHandle::destroyForcibly);
            lock = Deadline.in(KILLED_LIMIT).poll(this::tryLock);
        }
        return lock.orElseThrow(() -> new IOException(path + " is still used by another process"));
    }

    /** Removes what an earlier server left; never a file that is not its own, never through a link. */
    public final void clean() throws IOException {
        for (String name : own) {
            remove(child(name));
        }
    }

    /** Removes a file or a directory with all that is in it, where there is one; never through a link. */
    protected static void remove(Path root) throws IOException {
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

    private Path lockFile() {
        return child(program.name() + ".lock");
    }

    private boolean isEmpty() throws IOException {
        try (var files = Files.list(path)) {
            return files.findAny().isEmpty();
        }
    }
}
