package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.yahoo.bullet.bql.BQLResult;
import com.yahoo.bullet.bql.BulletQueryBuilder;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.querying.Querier;
import com.yahoo.bullet.querying.RunningQuery;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.source.RecordGenerator;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * What the load client takes for the engine's answers to its queries (collector-go/internal/lab/load/testdata) is what
 * the engine answers.
 */
class LoadQueriesTest {
    private static final Path ANSWERS = Path.of("..", "..", "collector-go", "internal", "lab", "load", "testdata",
            "engine-answers.json");
    private static final Gson GSON = new GsonBuilder().setPrettyPrinting().disableHtmlEscaping().create();
    private static final int FIRST = 1000;
    private static final int COUNT = 100;

    private final BulletStormConfig config = config();
    private final BulletQueryBuilder builder = new BulletQueryBuilder(config);
    private final RecordGenerator generator = new RecordGenerator(42, 1);

    private static BulletStormConfig config() {
        return new BulletStormConfig("conf/bullet_settings.yaml").validate();
    }

    @Test
    void theEngineAnswersSo() throws IOException {
        JsonObject recorded = new JsonParser().parse(Files.readString(ANSWERS)).getAsJsonObject();
        JsonObject now = new JsonObject();
        for (Map.Entry<String, JsonElement> query : recorded.entrySet()) {
            String bql = query.getKey();
            JsonObject answers = new JsonObject();
            answers.add("Hundred", answer(bql, COUNT));
            answers.add("None", answer(bql, 0));
            now.add(bql, answers);
        }
        if (Boolean.getBoolean("answers.update")) {
            Files.writeString(ANSWERS, GSON.toJson(now) + "\n");
            return;
        }
        assertThat(recorded.entrySet()).hasSizeGreaterThanOrEqualTo(5);
        assertThat(GSON.toJson(now)).isEqualTo(GSON.toJson(recorded));
    }

    /** Without what differs from run to run. */
    private JsonObject answer(String bql, int records) {
        BQLResult built = builder.buildQuery(bql);
        assertThat(built.hasErrors()).as(() -> bql + ": " + built.getErrors()).isFalse();
        Querier[] filters = {querier(Querier.Mode.PARTITION, built), querier(Querier.Mode.PARTITION, built)};
        Querier join = querier(Querier.Mode.ALL, built);
        for (int i = FIRST; i < FIRST + records; i++) {
            filters[i % filters.length].consume(generator.probe("p", i, i, i));
        }
        for (Querier filter : filters) {
            byte[] data = filter.getData();
            if (data != null) {
                join.combine(data);
            }
        }
        JsonObject result = new JsonParser().parse(join.finish().asJSON()).getAsJsonObject();
        JsonElement sketch = result.getAsJsonObject("meta").get("Sketch");
        JsonObject meta = new JsonObject();
        meta.add("Sketch", sketch);
        JsonObject answer = new JsonObject();
        answer.add("records", result.get("records"));
        answer.add("meta", meta);
        return answer;
    }

    private Querier querier(Querier.Mode mode, BQLResult query) {
        return new Querier(mode, new RunningQuery("q", query.getQuery(), new Metadata(null, query.getBql())), config);
    }
}
