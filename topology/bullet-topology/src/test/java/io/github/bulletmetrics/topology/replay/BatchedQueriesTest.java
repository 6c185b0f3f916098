package io.github.bulletmetrics.topology.replay;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.pubsub.PubSubMessage;
import io.github.bulletmetrics.topology.grouping.IDGrouping;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

class BatchedQueriesTest {
    /** Beside a plain map; with a bound on batches that an even spread keeps. */
    @ParameterizedTest
    @EnumSource
    void holdWhatWasAddedAndNotRemovedEachInItsPartition(BatchFormat format) {
        Random random = new Random(7);
        BatchedQueries queries = new BatchedQueries(3, 10, format);
        Map<String, PubSubMessage> plain = new HashMap<>();
        for (int i = 0; i < 5_000; i++) {
            String id = "query-" + random.nextInt(i < 2_500 ? 1_000 : 200);
            if (random.nextInt(3) > 0) {
                PubSubMessage message = new PubSubMessage(id, "text of " + i);
                queries.add(id, message);
                plain.putIfAbsent(id, message);
            } else {
                queries.remove(id);
                plain.remove(id);
            }
            if (i % 100 == 0) {
                check(queries, plain, format);
            }
        }
        check(queries, plain, format);
        queries.reset(Map.of());
        check(queries, Map.of(), format);
    }

    private static void check(BatchedQueries queries, Map<String, PubSubMessage> plain, BatchFormat format) {
        assertThat(queries.size()).isEqualTo(plain.size());
        assertThat(contents(queries.all(), format)).isEqualTo(contents(plain.values()));
        for (int task = 0; task < 3; task++) {
            int index = task;
            assertThat(contents(queries.of(task), format)).isEqualTo(
                contents(plain.values().stream().filter(message -> IDGrouping.index(message.getId(),
                3) == index).toList()));
        }
    }

    private static Map<String, String> contents(List<Object> batches, BatchFormat format) {
        List<PubSubMessage> messages = new ArrayList<>();
        batches.forEach(batch -> messages.addAll(format.read(batch).values()));
        Map<String, String> contents = contents(messages);
        assertThat(contents).as("no query in two batches").hasSize(messages.size());
        return contents;
    }

    private static Map<String, String> contents(Iterable<PubSubMessage> messages) {
        Map<String, String> contents = new HashMap<>();
        messages.forEach(message -> contents.put(message.getId(), message.getContentAsString()));
        return contents;
    }

    /** The numbers are Bullet's, for a batch size of 100 and one partition. */
    @ParameterizedTest
    @CsvSource({"0, 0, 1", "100, 0, 1", "101, 0, 2", "200, 0, 2", "201, 0, 4", "201, 101, 4", "201, 102, 2",
            "801, 401, 16",
        "801, 402, 8", "801, 602, 4"})
    void areInAsManyBatchesAsBulletWouldMake(int added, int removed, int batches) {
        BatchedQueries queries = new BatchedQueries(1, 100, BatchFormat.PLAIN);
        for (int i = 0; i < added; i++) {
            queries.add("query-" + i, new PubSubMessage("query-" + i, "text"));
        }
        for (int i = 0; i < removed; i++) {
            queries.remove("query-" + i);
        }
        assertThat(queries.all().size()).isEqualTo(batches);
    }

    @Test
    void areSpreadEvenlyWhateverTheIdsLookLike() {
        BatchedQueries queries = new BatchedQueries(4, 100, BatchFormat.PLAIN);
        for (int i = 0; i < 10_000; i++) {
            queries.add("query-" + i, new PubSubMessage("query-" + i, "text"));
        }
        List<Integer> sizes = queries.all().stream().map(batch -> BatchFormat.PLAIN.read(batch).size()).toList();
        assertThat(sizes).hasSize(128).allSatisfy(size -> assertThat(size).isBetween(20, 200));
    }

    @ParameterizedTest
    @EnumSource
    void whatIsToBeSentStaysAsItIs(BatchFormat format) {
        BatchedQueries queries = new BatchedQueries(1, 100, format);
        queries.add("early", new PubSubMessage("early", "text"));
        List<Object> before = queries.all();
        assertThat(queries.all().get(0)).as("made once as long as nothing changes").isSameAs(before.get(0));
        queries.add("late", new PubSubMessage("late", "text"));

        assertThat(format.read(before.get(0))).containsOnlyKeys("early");
        assertThat(format.read(queries.all().get(0))).containsOnlyKeys("early", "late");
        assertThat(format.read(null)).isNull();
    }
}
