package io.github.bulletmetrics.topology.localkafka;

import io.github.bulletmetrics.topology.localprocess.Daemon;
import io.github.bulletmetrics.topology.localprocess.Deadline;
import io.github.bulletmetrics.topology.localprocess.Foreground;
import io.github.bulletmetrics.topology.localprocess.FreePorts;
import io.github.bulletmetrics.topology.localprocess.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The running broker. */
final class Broker implements Foreground.Server {
    private static final Duration START_LIMIT = Duration.ofSeconds(120);

    private final BrokerDirectory directory;
    private final KafkaHome home;
    private final BrokerSettings settings;
    private Daemon process;
    private boolean stopping;

    /** Where a broker that is up listens, and its process. */
    record Ready(String bootstrap, long pid) {
    }

    Broker(BrokerDirectory directory, KafkaHome home, BrokerSettings settings) {
        this.directory = directory;
        this.home = home;
        this.settings = settings;
    }

    /**
     * Formats the directory, starts the broker and returns when it answers a client.
     *
     * @throws IOException when it dies or is not up within two minutes, or was stopped
     */
    @Override
    public Map<String, Object> start() throws IOException, InterruptedException {
        List<Integer> ports = FreePorts.choose(2);
        settings.write(directory, ports.get(0), ports.get(1));
        Files.createDirectories(directory.log("broker.log").getParent());
        launch("format", "the formatting of the directory", home.format(directory));
        if (process.waitFor() != 0) {
            throw new IOException(process.obituary());
        }
        launch("broker", "the broker", home.broker(directory, settings.heapMib()));
        Ready ready = new Ready(BrokerSettings.HOST + ":" + ports.get(0), process.pid());
        awaitAnswer(ready);
        directory.saveReady(ready);
        return Json.object("ready", true, "dir", directory.path(), "bootstrap", ready.bootstrap(), "pid", ready.pid());
    }

    private void awaitAnswer(Ready ready) throws IOException, InterruptedException {
        boolean ended = Deadline.in(START_LIMIT).await(() -> Topics.answer(ready.bootstrap()) || isStopping()
                || !process.isAlive());
        failIfStopping();
        failIfDead();
        if (!ended) {
            throw new IOException("the broker does not answer after " + START_LIMIT.toSeconds() + " s: see "
                    + directory.log("broker.log"));
        }
    }

    @Override
    public void awaitDeath() throws IOException, InterruptedException {
        process.waitFor();
        failIfStopping();
        failIfDead();
    }

    /** Not after a stop has begun. */
    private synchronized void launch(String log, String name, List<String> command) throws IOException {
        failIfStopping();
        process = Daemon.start(name, command, directory, List.of(directory.log(log + ".log")), environment -> { });
    }

    private synchronized void failIfStopping() throws IOException {
        if (stopping) {
            throw new IOException("stopped");
        }
    }

    @Override
    public synchronized boolean isStopping() {
        return stopping;
    }

    private void failIfDead() throws IOException {
        if (!process.isAlive()) {
            throw new IOException(process.obituary());
        }
    }

    /** Ends the broker, by SIGTERM and then by SIGKILL, within 10 s, and removes its topics. */
    @Override
    public void stop() throws IOException {
        synchronized (this) {
            stopping = true;
        }
        directory.leftovers().end();
        directory.removeState();
    }
}
