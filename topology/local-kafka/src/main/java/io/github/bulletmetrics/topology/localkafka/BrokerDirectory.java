package io.github.bulletmetrics.topology.localkafka;

import io.github.bulletmetrics.topology.localprocess.Leftovers;
import io.github.bulletmetrics.topology.localprocess.ProcessDirectory;
import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Properties;

/** The directory of one broker: its data, its configuration, its logs. */
final class BrokerDirectory extends ProcessDirectory {
    private static final String DATA = "data";
    /** Within the 10 s that the launcher has: first in order, then by force. */
    private static final Duration GRACE = Duration.ofSeconds(8);
    private static final Duration LIMIT = Duration.ofSeconds(10);

    private BrokerDirectory(Path path) throws IOException {
        super(LocalKafka.PROGRAM, path, List.of(DATA, "conf", "logs", "broker.properties", "broker.properties.new"));
    }

    /**
     * The directory at this path, which need not exist; the same one however it is written (relative, through links).
     */
    static BrokerDirectory at(Path path) throws IOException {
        return new BrokerDirectory(path);
    }

    Path data() {
        return child(DATA);
    }

    Path config() {
        return child("conf").resolve("server.properties");
    }

    /** What the marker names: a broker is one process. */
    @Override
    public Leftovers leftovers() {
        return new Leftovers(marker(), List.of(), process -> false, GRACE, LIMIT);
    }

    /** Writes down, in one step, that the broker is up. */
    void saveReady(Broker.Ready ready) throws IOException {
        Properties properties = new Properties();
        properties.setProperty("bootstrap", ready.bootstrap());
        properties.setProperty("pid", Long.toString(ready.pid()));
        Path aside = child("broker.properties.new");
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
        return Optional.of(new Broker.Ready(properties.getProperty("bootstrap"),
                Long.parseLong(properties.getProperty("pid"))));
    }

    /** The same, or an IOException that states what to do. */
    Broker.Ready requireReady() throws IOException {
        return ready().orElseThrow(() -> new IOException("no broker is up in " + path()
                + ": start one with local-kafka up --dir " + path()));
    }

    /** Removes the topics and says so in the record's absence; the logs stay. */
    @Override
    protected void removeState() throws IOException {
        Files.deleteIfExists(record());
        remove(data());
    }

    private Path record() {
        return child("broker.properties");
    }
}
