package io.github.bulletmetrics.topology.source;

import com.google.gson.JsonObject;
import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.record.BulletRecord;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Writes generated records to a Kafka topic as JSON: a backlog as fast as it can, with the timestamps that its records
 * would have had, then on at the rate, or as a query gateway says. Ends at the count, after the seconds, or on SIGTERM,
 * and prints on stdout what it wrote:
 * <pre>
 * {"topic":"records","records":100000,"bytes":480000000,"failed":0,"first_ms":1795200000000,"last_ms":1795200299997}
 * </pre>
 * Exit codes: 0 all was written, 1 not, 2 wrong usage.
 */
@Command(name = "produce", mixinStandardHelpOptions = true, sortOptions = false,
    description = "Writes generated records to a Kafka topic as JSON.")
public final class RecordProducer implements Callable<Integer> {
    /** Held, since the JDK keeps a logger and its level only as long as somebody does. */
    private static final Logger KAFKA_LOG = Logger.getLogger("org.apache.kafka");
    private static final int LIMIT_MS = 30_000;
    private static final long NAP_MS = 2;
    private static final long JOIN_MS = 10_000;

    @Option(names = "--bootstrap-server", required = true, paramLabel = "HOST:PORT", description = "The broker.")
    private String bootstrap;

    @Option(names = "--topic", required = true, paramLabel = "NAME", description = "The topic, which must exist.")
    private String topic;

    @Option(names = "--rate", defaultValue = "100", paramLabel = "R",
            description = "Records per second (default: ${DEFAULT-VALUE}).")
    private double rate;

    @Option(names = "--probe", paramLabel = "VALUE=R",
            description = "R additional records per second with this probe's value; may be repeated.")
    private Map<String, Double> probes = new LinkedHashMap<>();

    @Option(names = "--backlog-seconds", defaultValue = "0", paramLabel = "S",
            description = "First writes the records of the last S seconds (default: ${DEFAULT-VALUE}).")
    private double backlogSeconds;

    @Option(names = "--seconds", paramLabel = "S",
            description = "Ends S seconds after the backlog, 0 with its end (default:"
        + " never).")
    private Double seconds;

    @Option(names = "--count", paramLabel = "N", description = "Ends after N records (default: never).")
    private Long count;

    @Option(names = "--seed", defaultValue = "42", paramLabel = "SEED",
            description = "Determines the values of all records, including record_id (default: ${DEFAULT-VALUE}).")
    private long seed;

    @Option(names = "--control-url", paramLabel = "URL",
            description = "Takes the rates from a query gateway, like the topology's own source,"
        + " and reports what was written: http://HOST:PORT/api/source/control.")
    private URI controlUrl;

    @Option(names = "--part", defaultValue = "1/1", paramLabel = "I/N", converter = Part.Converter.class,
            description = "Writes the I-th of N shares of all rates, so that N producers on any hosts together"
        + " write each record once (default: all).")
    private Part part;

    @Option(names = "-c", paramLabel = "key=value", description = "A setting of Kafka's producer; may be repeated.")
    private Map<String, String> settings = new LinkedHashMap<>();

    @Spec
    private CommandSpec spec;

    private final Clock clock = new Clock();
    private long start;
    private final CountDownLatch done = new CountDownLatch(1);
    private final AtomicLong failed = new AtomicLong();
    private final AtomicReference<Exception> firstFailure = new AtomicReference<>();
    private volatile boolean stopped;
    // Written by the main thread alone, read by the control client's for its report.
    private volatile long sent;
    private volatile PastEmission emission;
    private ControlClient client;
    private long bytes;
    private long firstMs;
    private long lastMs;

    /**
     * Runs it.
     *
     * @param arguments see {@code --help}.
     */
    public static void main(String[] arguments) {
        logToStderr();
        System.exit(new CommandLine(new RecordProducer()).setExecutionExceptionHandler((e, line, parsed) -> {
            line.getErr().println("produce: " + e.getMessage());
            return line.getCommandSpec().exitCodeOnExecutionException();
        }).execute(arguments));
    }

    /** Kafka's warnings, by the binding that the jar carries. */
    private static void logToStderr() {
        if (System.getProperty("slf4j.provider") == null) {
            System.setProperty("slf4j.provider", "org.slf4j.jul.JULServiceProvider");
        }
        KAFKA_LOG.setLevel(Level.WARNING);
    }

    @Override
    public Integer call() {
        require(rate >= 0 && backlogSeconds >= 0, "--rate and --backlog-seconds cannot be below 0");
        require(seconds == null || seconds >= 0, "--seconds cannot be below 0");
        Runtime.getRuntime().addShutdownHook(new Thread(this::stopInOrder, "stop-producer"));
        try (Producer<byte[], byte[]> producer = new KafkaProducer<>(producerSettings())) {
            start();
            write(producer);
            producer.flush();
            print();
        } finally {
            if (client != null) {
                client.close();
            }
            done.countDown();
        }
        if (firstFailure.get() != null) {
            spec.commandLine().getErr().println("produce: " + failed + " records were not written: "
                    + firstFailure.get().getMessage());
            return CommandLine.ExitCode.SOFTWARE;
        }
        return CommandLine.ExitCode.OK;
    }

    private void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new ParameterException(spec.commandLine(), otherwise);
        }
    }

    /** Lets the main thread write what it has and say how much that was. */
    private void stopInOrder() {
        stopped = true;
        try {
            done.await(JOIN_MS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void start() {
        start = clock.micros();
        emission = new PastEmission(generator(), part.task(), part.of(), start - (long) (backlogSeconds * 1e6));
        if (controlUrl != null) {
            client = new ControlClient(controlUrl, GeneratorSettings.from(new BulletConfig()).controlPollMs(),
                    this::report);
            client.start();
        }
    }

    /** As one task, that of its part, of a source that is named after its topic. */
    private SourceReport report() {
        long written = sent - failed.get();
        return new SourceReport(topic, part.task(), emission.control().version(), written, written, failed.get(),
                emission.lag(clock.micros()), 0,
                                client.failures());
    }

    private void write(Producer<byte[], byte[]> producer) {
        long endMicros = seconds == null ? Long.MAX_VALUE : start + (long) (seconds * 1e6);
        int partitions = producer.partitionsFor(topic).size();
        while (!stopped && (count == null || sent < count)) {
            long now = clock.micros();
            if (client != null && client.latest() != null) {
                emission.apply(client.latest());
            }
            BulletRecord<?> record = emission.next(Math.min(now, endMicros));
            if (record != null) {
                send(producer, (int) (sent % partitions), emission.dueMs(),
                        RecordJson.of(record).getBytes(StandardCharsets.UTF_8));
            } else if (now >= endMicros) {
                return;
            } else {
                nap();
            }
        }
    }

    private GeneratorSettings generator() {
        List<Probe> all = probes.entrySet().stream().map(probe -> new Probe(probe.getKey(), probe.getValue())).toList();
        GeneratorSettings defaults = GeneratorSettings.from(new BulletConfig());
        return new GeneratorSettings(seed, defaults.variants(), defaults.batchSize(), defaults.maxLagMs(),
                                     new SourceControl(rate, all, 0), null, defaults.controlPollMs());
    }

    private void send(Producer<byte[], byte[]> producer, int partition, long timestampMs, byte[] value) {
        producer.send(new ProducerRecord<>(topic, partition, timestampMs, null, value), this::sent);
        firstMs = sent == 0 ? timestampMs : firstMs;
        lastMs = timestampMs;
        sent = sent + 1;
        bytes += value.length;
    }

    private void sent(RecordMetadata where, Exception failure) {
        if (failure != null) {
            failed.incrementAndGet();
            firstFailure.compareAndSet(null, failure);
        }
    }

    private void print() {
        JsonObject line = new JsonObject();
        line.addProperty("topic", topic);
        line.addProperty("records", sent - failed.get());
        line.addProperty("bytes", bytes);
        line.addProperty("failed", failed.get());
        line.addProperty("first_ms", firstMs);
        line.addProperty("last_ms", lastMs);
        System.out.println(line);
        System.out.flush();
    }

    private static void nap() {
        try {
            TimeUnit.MILLISECONDS.sleep(NAP_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private Map<String, Object> producerSettings() {
        Map<String, Object> all = new LinkedHashMap<>();
        all.put(ProducerConfig.LINGER_MS_CONFIG, 20);
        all.put(ProducerConfig.BATCH_SIZE_CONFIG, 256 * 1024);
        all.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, LIMIT_MS);
        all.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, LIMIT_MS);
        all.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, LIMIT_MS / 2);
        all.putAll(settings);
        all.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        all.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        all.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        return all;
    }
}
