package io.github.bulletmetrics.storm;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * The settings that are reported to a collector. Only settings that affect capacity are included, because others may
 * contain passwords.
 */
final class ReportedSettings {
    /** Options of the workers' JVMs; of these {@link JvmFlags} only. */
    private static final List<String> JVM_OPTIONS = Collections.unmodifiableList(Arrays.asList(
            "worker.childopts", "worker.gc.childopts", "topology.worker.childopts", "topology.worker.gc.childopts"));

    private static final List<String> STORM = Collections.unmodifiableList(Arrays.asList(
            "topology.workers", "topology.acker.executors", "topology.eventlogger.executors",
            "topology.max.spout.pending",
            "topology.message.timeout.secs", "topology.max.task.parallelism", "topology.stats.sample.rate",
            "topology.builtin.metrics.bucket.size.secs", "topology.enable.v2.metrics.tick",
            "topology.v2.metrics.tick.interval.seconds",
            "topology.worker.max.heap.size.mb", "worker.heap.memory.mb",
            "topology.component.resources.onheap.memory.mb",
            "topology.component.resources.offheap.memory.mb", "topology.component.cpu.pcore.percent",
            "topology.executor.receive.buffer.size", "topology.executor.send.buffer.size",
            "topology.transfer.buffer.size",
            "topology.transfer.batch.size", "topology.producer.batch.size", "topology.batch.flush.interval.millis",
            "topology.backpressure.enable", "topology.backpressure.wait.strategy", "topology.bolt.wait.strategy",
            "topology.bolt.wait.progressive.level2.count", "topology.spout.wait.strategy",
            "topology.disruptor.wait.timeout.millis",
            "topology.scheduler.strategy", "storm.scheduler", "storm.messaging.netty.buffer_size",
            "topology.fall.back.on.java.serialization", ConsumerResources.ON_HEAP, ConsumerResources.OFF_HEAP,
            ConsumerResources.CPU));

    /** Components of Bullet whose parallelism and resources are settings, {@code bullet.topology.<component>.*}. */
    private static final List<String> COMPONENTS = Collections.unmodifiableList(Arrays.asList("dsl.spout", "dsl.bolt",
            "bullet.spout",
            "query.spout", "tick.spout", "filter.bolt", "join.bolt", "result.bolt", "loop.bolt", "replay.bolt"));

    private static final List<String> OF_A_COMPONENT = Collections.unmodifiableList(Arrays.asList("parallelism",
            "cpu.load",
            "memory.on.heap.load", "memory.off.heap.load"));

    private static final List<String> BULLET = Collections.unmodifiableList(Arrays.asList(
            "bullet.topology.metrics.built.in.enable", "bullet.topology.metrics.built.in.emit.interval.mapping",
            "bullet.topology.replay.enable", "bullet.topology.replay.request.interval",
            "bullet.topology.replay.batch.size",
            "bullet.topology.replay.batch.compress.enable", "bullet.topology.dsl.spout.enable",
            "bullet.topology.dsl.spout.connector.as.spout.enable", "bullet.topology.dsl.spout.connector.class.name",
            "bullet.topology.dsl.bolt.enable", "bullet.topology.dsl.deserializer.enable",
            "bullet.topology.bullet.spout.class.name",
            "bullet.topology.tick.spout.interval.ms", "bullet.topology.filter.bolt.stats.report.ticks",
            "bullet.topology.join.bolt.query.post.finish.buffer.ticks",
            "bullet.topology.join.bolt.query.pre.start.delay.ticks",
            "bullet.dsl.connector.class.name", "bullet.dsl.connector.read.timeout.ms",
            "bullet.dsl.connector.async.commit.enable",
            "bullet.dsl.connector.kafka.max.poll.records", "bullet.dsl.connector.kafka.start.at.end.enable",
            "bullet.dsl.connector.kafka.enable.auto.commit", "bullet.dsl.converter.class.name",
            "bullet.topology.source.sampling.percentage", "bullet.topology.source.metrics.enable",
            "bullet.topology.generator.records.per.second", "bullet.query.partitioner.enable",
            "bullet.query.window.disable", "bullet.query.rate.limit.enable",
            "bullet.query.default.duration.ms", "bullet.query.max.duration.ms", "bullet.query.aggregation.max.size",
            "bullet.pubsub.class.name"));

    /** All names. */
    static final List<String> NAMES = names();

    /** Not a setting of its own, but a key of the consumer's entry in {@code topology.metrics.consumer.register}. */
    static final String RETAIN_LIMIT = "max.retain.metric.tuples";
    private static final String STORMS_RETAIN_LIMIT = "100";

    private static final int MAX_CHARS = 1_000;

    private ReportedSettings() {
    }

    private static List<String> names() {
        List<String> names = new ArrayList<>(JVM_OPTIONS);
        names.addAll(STORM);
        for (String component : COMPONENTS) {
            for (String setting : OF_A_COMPONENT) {
                names.add("bullet.topology." + component + "." + setting);
            }
        }
        names.addAll(BULLET);
        return Collections.unmodifiableList(names);
    }

    /**
     * The settings as they are reported, by name; those that are not set are left out.
     *
     * @param setting returns the value of a setting; null if it has none.
     */
    static Map<String, String> of(Function<String, Object> setting) {
        Map<String, String> reported = new TreeMap<>();
        for (String name : NAMES) {
            Object value = setting.apply(name);
            String text = value == null ? "" : text(name, value);
            if (!text.isEmpty()) {
                reported.put(name, text);
            }
        }
        return reported;
    }

    /**
     * How many reports Storm keeps for the plugin's consumer, as {@link #RETAIN_LIMIT}; Storm's default where its entry
     * does not say; empty where Storm's list has no such entry.
     *
     * @param registered {@code topology.metrics.consumer.register}.
     */
    static Map<String, String> retainLimit(Object registered) {
        if (registered instanceof Iterable) {
            for (Object entry : (Iterable<?>) registered) {
                if (Registration.isOurs(entry)) {
                    Object limit = ((Map<?, ?>) entry).get("max.retain.metric.tuples");
                    return Collections.singletonMap(RETAIN_LIMIT, limit == null ? STORMS_RETAIN_LIMIT
                            : limit.toString());
                }
            }
        }
        return Collections.emptyMap();
    }

    private static String text(String name, Object value) {
        String text = JVM_OPTIONS.contains(name) ? JvmFlags.flags(value) : value.toString();
        return text.length() <= MAX_CHARS ? text : text.substring(0, MAX_CHARS);
    }
}
