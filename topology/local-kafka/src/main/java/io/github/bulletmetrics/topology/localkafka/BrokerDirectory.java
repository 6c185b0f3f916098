package io.github.bulletmetrics.topology.localkafka;

import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Properties;

/**
 * The directory of one broker: its data, its configuration, its logs. One launcher at a time holds it, by a lock on a file in it.
 * Every process of the broker carries the directory in its command line, so that it can be found again whatever became of its
 * launcher.
 */
final class BrokerDirectory {
    private static final String DATA = "data";
    private static final List<String> OWN = List.of(DATA, "conf", "logs", "broker.properties", "broker.properties.new");

    private final Path path;

    private BrokerDirectory(Path path) {
        this.path = path;
    }

    /** The directory at this path, which need not exist; the same one however it is written (relative, through links). */
    static BrokerDirectory at(Path path) throws IOException {
        Path absolute = path.toAbsolutePath().normalize();
        Path existing = absolute;
        while (!Files.exists(existing)) {
            existing = existing.getParent();
        }
        return new BrokerDirectory(existing.toRealPath().resolve(existing.relativize(absolute)).normalize());
    }

    Path path() {
        return path;
    }

    Path data() {
        return path.resolve(DATA);
    }

    Path config() {
        return path.resolve("conf").resolve("server.properties");
    }

    Path logs() {
        return path.resolve("logs");
    }

    /** The first argument of every JVM of this broker. */
    String marker() {
        return "-Dlocal.kafka.dir=" + path;
    }

    /** The live processes of this broker. An argument is compared whole: a directory below this one has another. */
    List<ProcessHandle> processes() {
        return ProcessHandle.allProcesses()
            .filter(process -> process.info().arguments().filter(arguments -> Arrays.asList(arguments).contains(marker())).isPresent())
            .toList();
    }

    /**
     * Takes the directory for this process until the process ends, or the lock is closed, and creates it where it is missing.
     *
     * @return empty when a live launcher holds it
     * @throws IOException also when the directory holds files but was never one of a broker
     */
    Optional<FileLock> tryLock() throws IOException {
        if (!hasLockFile() && Files.isDirectory(path) && !isEmpty()) {
            throw new IOException(path + " is not empty and was not made by local-kafka: give a directory of its own");
        }
        Files.createDirectories(path);
        FileChannel channel = FileChannel.open(lockFile(), StandardOpenOption.CREATE, StandardOpenOption.READ,
            StandardOpenOption.WRITE);
        FileLock lock = channel.tryLock();
        if (lock == null) {
            channel.close();
            return Optional.empty();
        }
        ProcessHandle self = ProcessHandle.current();
        channel.truncate(0);
        channel.write(ByteBuffer.wrap((self.pid() + " " + startOf(self)).getBytes(StandardCharsets.US_ASCII)), 0);
        return Optional.of(lock);
    }

    boolean hasLockFile() {
        return Files.exists(lockFile());
    }

    /** The live process that took the lock last; empty when there is none. A pid given out again has another start. */
    Optional<ProcessHandle> holder() throws IOException {
        String[] parts = hasLockFile() ? Files.readString(lockFile()).trim().split(" ") : new String[0];
        if (parts.length != 2) {
            return Optional.empty();
        }
        return ProcessHandle.of(Long.parseLong(parts[0]))
            .filter(process -> process.isAlive() && Long.toString(startOf(process)).equals(parts[1]));
    }

    private static long startOf(ProcessHandle process) {
        return process.info().startInstant().map(java.time.Instant::toEpochMilli).orElse(0L);
    }

    /** Writes down, in one step, that the broker is up. */
    void saveReady(Broker.Ready ready) throws IOException {
        Properties properties = new Properties();
        properties.setProperty("bootstrap", ready.bootstrap());
        properties.setProperty("pid", Long.toString(ready.pid()));
        Path aside = path.resolve("broker.properties.new");
        try (Writer writer = Files.newBufferedWriter(aside)) {
            properties.store(writer, "written by local-kafka up");
        }
        Files.move(aside, record(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** The broker that is up here; empty when no launcher lives or its broker is not up yet. */
    Optional<Broker.Ready> ready() throws IOException {
        if (holder().isEmpty() || !Files.exists(record())) {
            return Optional.empty();
        }
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(record())) {
            properties.load(reader);
        }
        return Optional.of(new Broker.Ready(properties.getProperty("bootstrap"), Long.parseLong(properties.getProperty("pid"))));
    }

    /** The same, or an IOException that says what to do. */
    Broker.Ready requireReady() throws IOException {
        return ready().orElseThrow(() -> new IOException("no broker is up in " + path + ": start one with local-kafka up --dir " + path));
    }

    /** Removes what an earlier broker left; never a file that is not its own, never through a link. */
    void clean() throws IOException {
        for (String name : OWN) {
            remove(path.resolve(name));
        }
    }

    /** Removes the topics and says so in the record's absence; the logs stay. */
    void removeData() throws IOException {
        Files.deleteIfExists(record());
        remove(data());
    }

    private static void remove(Path root) throws IOException {
        if (!Files.exists(root, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        try (var files = Files.walk(root)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    private boolean isEmpty() throws IOException {
        try (var files = Files.list(path)) {
            return files.findAny().isEmpty();
        }
    }

    private Path record() {
        return path.resolve("broker.properties");
    }

    private Path lockFile() {
        return path.resolve("local-kafka.lock");
    }
}
