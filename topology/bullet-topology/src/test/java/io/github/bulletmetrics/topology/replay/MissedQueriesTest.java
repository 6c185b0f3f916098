package io.github.bulletmetrics.topology.replay;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.pubsub.PubSubMessage;

import org.junit.jupiter.api.Test;

import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

class MissedQueriesTest {
    private static final long START = 1_000_000;

    private final MissedQueries missed = new MissedQueries(30_000);

    @Test
    void nothingIsDueBeforeItBegins() {
        assertThat(missed.isDue(START)).isFalse();
        assertThat(ids(missed.take(0, batch("a"), START))).isEmpty();
    }

    @Test
    void asksAtOnceAndAgainWhenNoBatchCame() {
        missed.begin(START);
        assertThat(missed.isDue(START)).isTrue();
        assertThat(missed.isDue(START + 29_999)).isFalse();
        missed.take(START, batch("a"), START + 20_000);
        assertThat(missed.isDue(START + 49_999)).isFalse();
        assertThat(missed.isDue(START + 50_000)).isTrue();

        missed.take(START, null, START + 60_000);
        assertThat(missed.isWaiting()).isFalse();
        assertThat(missed.isDue(START + 999_999)).isFalse();
    }

    @Test
    void takesOnlyBatchesOfItsLastRequest() {
        missed.begin(START);
        missed.begin(START);
        assertThat(missed.since()).as("distinguishes the two").isEqualTo(START + 1);
        assertThat(ids(missed.take(START, batch("a"), START))).isEmpty();
        missed.take(START, null, START);
        assertThat(missed.isWaiting()).isTrue();
        assertThat(ids(missed.take(START + 1, batch("a", "b"), START))).containsExactlyInAnyOrder("a", "b");
        missed.take(START + 1, null, START);
        assertThat(ids(missed.take(START + 1, batch("c"), START))).as("after the end").isEmpty();
        assertThat(missed).hasToString("2 queries in 1 batches since 1000001");
    }

    @Test
    void bringsNoQueryBackThatHasEndedSinceItBegan() {
        missed.ended("before");
        missed.begin(START);
        missed.ended("a");
        Map<String, PubSubMessage> batch = batch("before", "a", "b");
        batch.put("nothing", null);
        assertThat(ids(missed.take(START, batch, START))).containsExactlyInAnyOrder("before", "b");
        assertThat(batch).as("is others' too").hasSize(4);
        missed.take(START, null, START);

        missed.begin(START + 10);
        assertThat(ids(missed.take(START + 10, batch("a"), START))).as("a later query of that id").containsExactly("a");
    }

    @Test
    void forgetsTheOldestOfTooManyEndedQueriesAndSaysSo() {
        missed.begin(START);
        for (int i = 0; i <= MissedQueries.MOST_ENDED; i++) {
            missed.ended("query-" + i);
        }
        assertThat(ids(missed.take(START, batch("query-0", "query-1"), START))).containsExactly("query-0");
        assertThat(missed.toString()).contains("1 ended queries forgotten");
    }

    private static Map<String, PubSubMessage> batch(String... ids) {
        Map<String, PubSubMessage> batch = new HashMap<>();
        List.of(ids).forEach(id -> batch.put(id, new PubSubMessage(id, "text")));
        return batch;
    }

    private static List<String> ids(Collection<PubSubMessage> messages) {
        return messages.stream().map(PubSubMessage::getId).toList();
    }
}
