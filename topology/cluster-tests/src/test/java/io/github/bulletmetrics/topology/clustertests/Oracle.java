package io.github.bulletmetrics.topology.clustertests;

import com.google.gson.JsonArray;
import com.google.gson.JsonParser;
import com.yahoo.bullet.bql.BQLResult;
import com.yahoo.bullet.bql.BulletQueryBuilder;
import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.querying.Querier;
import com.yahoo.bullet.querying.RunningQuery;
import com.yahoo.bullet.record.BulletRecord;
import io.github.bulletmetrics.topology.Overrides;
import io.github.bulletmetrics.topology.Settings;
import io.github.bulletmetrics.topology.source.GeneratorSettings;
import io.github.bulletmetrics.topology.source.RecordGenerator;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;

/**
 * What bullet-core says a query's answer is: one Querier that sees all the records of a stretch of a probe, which the
 * generator's schedule determines without asking the topology.
 */
final class Oracle {
    private static final double MICROS = 1e6;
    private static final long ANY_TIME_MS = 0;

    private final BulletConfig config;
    private final RecordGenerator generator;
    private final String probe;
    private final double perSecond;

    /** The settings are those of the topology. */
    Oracle(Map<String, Object> settings, String probe, double perSecond) throws IOException {
        config = Settings.forGateway(StormCluster.SAMPLE_SETTINGS, new Overrides(settings, Map.of()).bullet());
        GeneratorSettings generatorSettings = GeneratorSettings.from(config);
        generator = new RecordGenerator(generatorSettings.seed(), generatorSettings.variants());
        this.probe = probe;
        this.perSecond = perSecond;
    }

    /** Records of a probe: those with sequence numbers from {@code first} to {@code last}, both included. */
    record Stretch(String probe, long first, long last) {
        /** The condition that a query needs to see these and no others. */
        String where() {
            return "probe = '" + probe + "' AND probe_sequence >= " + first + " AND probe_sequence <= " + last;
        }

        long size() {
            return last - first + 1;
        }
    }

    /** The records that are due between two moments from now on. */
    Stretch stretch(long fromMs, long toMs) {
        long nowMicros = System.currentTimeMillis() * 1_000;
        return new Stretch(probe, due(nowMicros + fromMs * 1_000) + 1, due(nowMicros + toMs * 1_000));
    }

    private long due(long micros) {
        return (long) Math.floor(micros * perSecond / MICROS);
    }

    /** The records of the answer. The fields with the time of a record's making are not the topology's. */
    JsonArray answer(String bql, Stretch stretch) {
        BQLResult result = new BulletQueryBuilder(config).buildQuery(bql);
        if (result.hasErrors()) {
            throw new AssertionError(bql + ": " + result.getErrors());
        }
        result.getQuery().configure(config);
        Querier querier = new Querier(Querier.Mode.ALL,
            new RunningQuery("oracle", result.getQuery(), new Metadata(null, result.getBql())), config);
        records(stretch).forEach(querier::consume);
        return new JsonParser().parse(querier.finish().asJSON()).getAsJsonObject().getAsJsonArray("records");
    }

    private List<BulletRecord<?>> records(Stretch stretch) {
        return LongStream.rangeClosed(stretch.first(), stretch.last()).<BulletRecord<?>>mapToObj(sequence ->
            generator.probe(probe, sequence, (long) Math.ceil(sequence * MICROS / perSecond), ANY_TIME_MS)).toList();
    }
}
