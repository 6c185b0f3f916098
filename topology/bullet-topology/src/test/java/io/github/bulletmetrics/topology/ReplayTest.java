package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import com.yahoo.bullet.storage.MemoryStorageManager;
import com.yahoo.bullet.storm.BulletStormConfig;
import io.github.bulletmetrics.topology.grouping.IDGrouping;
import io.github.bulletmetrics.topology.source.RecordGenerator;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Replay among the real components, as they are wired: 1 filter, 2 join, 1 replay bolt task and 2 query spouts. */
class ReplayTest {
    private static final String TWO = "SELECT probe_sequence FROM STREAM(3600000, TIME) WHERE probe = 'p' LIMIT 2";

    private final BulletStormConfig config = Queries.config();
    private final RecordGenerator generator = new RecordGenerator(1, 4);

    ReplayTest() {
        config.set(BulletStormConfig.REPLAY_ENABLE, true);
        config.set(BulletConfig.STORAGE_CLASS_NAME, MemoryStorageManager.class.getName());
        Map.of("filter.bolt", 1, "join.bolt", 2, "replay.bolt", 1, "query.spout", 2)
            .forEach((component, executors) -> config.set("bullet.topology." + component + ".parallelism", executors));
    }

    private SmallStorm started() {
        SmallStorm storm = new SmallStorm(config);
        storm.run();
        return storm;
    }

    @Test
    void everyFilterAndJoinTaskAsksOnceAtItsStart() {
        SmallStorm storm = started();
        storm.tick();
        storm.run();

        assertThat(storm.emitted("FilterBolt feedback")).isEqualTo(1);
        assertThat(storm.emitted("JoinBolt feedback")).isEqualTo(2);
        assertThat(storm.emitted("ReplayBolt replay")).as("2 batches and the end, and twice 1 batch and the end")
                .isEqualTo(7);
        assertThat(storm.emitted("QuerySpout replay")).as("and a last one for each that ends it").isEqualTo(10);
        Map<String, Long> replays = new TreeMap<>();
        for (String name : List.of(name(storm, "FilterBolt", 0), name(storm, "JoinBolt", 0),
                name(storm, "JoinBolt", 1))) {
            replays.put(name, 1L);
        }
        assertThat(storm.metric("ReplayBolt", 0, "bullet_created_replays")).isInstanceOf(Map.class).isEqualTo(replays);
        replays.replaceAll((name, count) -> 0L);
        assertThat(storm.metric("ReplayBolt", 0, "bullet_active_replays")).isEqualTo(replays);
        assertThat(storm.metric("ReplayBolt", 0, "bullet_batched_queries")).isEqualTo(0L);
        assertThat(storm.metric("QuerySpout", 0, "bullet_active_replays")).isEqualTo(0L);
        assertThat(storm.board.committed).hasSize(3);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRestartedFilterTaskGetsItsQueriesAgain(boolean compressed) {
        config.set(BulletStormConfig.REPLAY_BATCH_COMPRESS_ENABLE, compressed);
        SmallStorm storm = started();
        storm.submit(Queries.message("q", TWO));

        storm.restart("FilterBolt", 0);
        showTwo(storm);
        assertThat(storm.board.results).as("before its replay it knows no query").isEmpty();
        storm.run();
        showTwo(storm);

        assertThat(storm.board.results).extracting(PubSubMessage::getId).containsExactly("q");
        assertThat(storm.board.results.get(0).hasSignal(Metadata.Signal.COMPLETE)).isTrue();
        assertThat(created(storm, "FilterBolt", 0)).isEqualTo(2L);
        assertThat(storm.metric("ReplayBolt", 0, "bullet_batched_queries")).as("after the end").isEqualTo(0L);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aRestartedJoinTaskGetsItsOwnQueriesAgainInBatches(boolean compressed) {
        config.set(BulletStormConfig.REPLAY_BATCH_COMPRESS_ENABLE, compressed);
        config.set(BulletStormConfig.REPLAY_BATCH_SIZE, 3);
        SmallStorm storm = started();
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            ids.add("query-" + i);
            storm.submit(Queries.message("query-" + i, TWO));
        }
        long own = ids.stream().filter(id -> IDGrouping.index(id, 2) == 1).count();
        int before = storm.emitted("ReplayBolt replay");

        storm.restart("JoinBolt", 1);
        assertThat(storm.metric("JoinBolt", 1, "bullet_active_queries")).isEqualTo(0L);
        storm.run();

        assertThat(storm.metric("ReplayBolt", 0, "bullet_batched_queries")).isEqualTo(40L);
        assertThat(own).isBetween(12L, 24L);
        assertThat(storm.emitted("ReplayBolt replay") - before).as("8 batches of 3 and the end").isEqualTo(9);
        assertThat(storm.metric("JoinBolt", 1, "bullet_active_queries")).isEqualTo(own);
        assertThat(storm.metric("JoinBolt", 1, "bullet_created_queries")).isEqualTo(own);
        showTwo(storm);
        assertThat(storm.board.results).extracting(PubSubMessage::getId).containsExactlyInAnyOrderElementsOf(ids);
    }

    @Test
    void aQueryThatCameBeforeItsReplayIsCountedAsDuplicatedAndAnsweredOnce() {
        SmallStorm storm = started();
        String id = "q";
        int task = IDGrouping.index(id, 2);
        storm.board.queries.add(Queries.message(id, TWO));
        storm.restart("JoinBolt", task);
        storm.run();

        assertThat(storm.metric("JoinBolt", task, "bullet_duplicated_queries")).isEqualTo(1L);
        assertThat(storm.metric("JoinBolt", task, "bullet_active_queries")).isEqualTo(1L);
        showTwo(storm);
        assertThat(storm.board.results).hasSize(1);
    }

    @Test
    void aKilledQueryIsNotReplayed() {
        SmallStorm storm = started();
        storm.submit(Queries.message("q", TWO));
        storm.submit(new PubSubMessage("q", Metadata.Signal.KILL));

        storm.restart("FilterBolt", 0);
        storm.restart("JoinBolt", 0);
        storm.restart("JoinBolt", 1);
        storm.run();
        showTwo(storm);

        assertThat(storm.board.results).isEmpty();
        assertThat(storm.emitted("FilterBolt default")).isZero();
    }

    @Test
    void aReplayToATaskThatDiedFailsAndTheNextRequestRestartsIt() {
        SmallStorm storm = started();
        storm.submit(Queries.message("q", TWO));
        storm.restart("FilterBolt", 0);
        storm.kill("FilterBolt", 0);
        storm.run();
        assertThat(activeInSpouts(storm)).isEqualTo(1L);
        assertThat(active(storm, "FilterBolt", 0)).isEqualTo(1L);

        storm.timeOut();
        assertThat(activeInSpouts(storm)).isEqualTo(0L);
        storm.restart("FilterBolt", 0);
        storm.run();
        showTwo(storm);

        assertThat(storm.board.results).hasSize(1);
        assertThat(active(storm, "FilterBolt", 0)).isEqualTo(0L);
        assertThat(created(storm, "FilterBolt", 0)).isEqualTo(3L);
    }

    @Test
    void whenTwoSpoutsReadTheSameRequestTheLaterOneMovesTheReplayOn() {
        SmallStorm storm = started();
        storm.submit(Queries.message("q", TWO));
        storm.restart("FilterBolt", 0);
        storm.kill("FilterBolt", 0);
        PubSubMessage request = storm.board.queries.peek();
        storm.board.queries.add(request);
        storm.read(0);
        storm.read(1);
        assertThat(storm.metric("QuerySpout", 0, "bullet_active_replays")).isEqualTo(1L);
        assertThat(storm.metric("QuerySpout", 1, "bullet_active_replays")).isEqualTo(1L);

        assertThat(created(storm, "FilterBolt", 0)).as("one replay, whoever asks").isEqualTo(2L);
    }

    @Test
    void aSignalWithoutATimeLetsEveryTaskAskAgainForWhatIsStored() {
        config.set(BulletConfig.STORAGE_CLASS_NAME, SharedStorage.class.getName());
        config.set(SharedStorage.STORED, new ArrayList<Serializable>(List.of(Queries.message("stored", TWO))));
        SmallStorm storm = started();
        assertThat(storm.metric("ReplayBolt", 0, "bullet_batched_queries")).isEqualTo(1L);
        int task = IDGrouping.index("stored", 2);
        assertThat(storm.metric("JoinBolt", task, "bullet_active_queries")).isEqualTo(1L);

        storm.submit(new PubSubMessage("all", Metadata.Signal.REPLAY));

        assertThat(storm.emitted("FilterBolt feedback")).isEqualTo(2);
        assertThat(storm.emitted("JoinBolt feedback")).isEqualTo(4);
        assertThat(created(storm, "JoinBolt", 0)).isEqualTo(2L);
        assertThat(storm.metric("JoinBolt", task, "bullet_duplicated_queries")).isEqualTo(1L);
        showTwo(storm);
        assertThat(storm.board.results).extracting(PubSubMessage::getId).containsExactly("stored");
    }

    @ParameterizedTest
    @ValueSource(strings = {"NoBolt-1", "FilterBolt", "FilterBolt-999", "ReplayBolt-1", "x"})
    void aRequestOfNoTaskIsRefused(String id) {
        SmallStorm storm = started();
        int before = storm.emitted("ReplayBolt replay");
        storm.submit(new PubSubMessage(id, null, new Metadata(Metadata.Signal.REPLAY, 1L)));

        assertThat(storm.emitted("ReplayBolt replay")).isEqualTo(before);
        assertThat(activeInSpouts(storm)).isEqualTo(0L);
        assertThat((Map<?, ?>) storm.metric("ReplayBolt", 0, "bullet_created_replays")).hasSize(3);
    }

    /** JSON knows no long: over RESTPubSub the time of a request comes as a double. */
    @Test
    void theTimeOfARequestMayBeAnyNumber() {
        SmallStorm storm = started();
        double later = System.currentTimeMillis() + 60_000;
        storm.submit(new PubSubMessage(name(storm, "FilterBolt", 0), null,
                new Metadata(Metadata.Signal.REPLAY, later)));
        assertThat(created(storm, "FilterBolt", 0)).isEqualTo(2L);
    }

    @Test
    void withoutReplayRequestsAreCommittedAndLeftOut() {
        config.set(BulletStormConfig.REPLAY_ENABLE, false);
        SmallStorm storm = started();
        storm.submit(new PubSubMessage("FilterBolt-1", null, new Metadata(Metadata.Signal.REPLAY, 1L)));
        storm.submit(new PubSubMessage("all", Metadata.Signal.REPLAY));

        assertThat(storm.emitted("QuerySpout replay")).isZero();
        assertThat(storm.emitted("FilterBolt feedback")).isZero();
        assertThat(storm.emitted("QuerySpout metadata")).as("the signal for all is handed on, as in Bullet")
                .isEqualTo(1);
        assertThat(storm.board.committed).containsExactly("FilterBolt-1", "all");
    }

    private void showTwo(SmallStorm storm) {
        storm.record(generator.probe("p", 1, 1, 1));
        storm.record(generator.probe("p", 2, 2, 2));
        storm.run();
    }

    private static String name(SmallStorm storm, String component, int index) {
        return component + "-" + storm.task(component, index);
    }

    private static Object created(SmallStorm storm, String component, int index) {
        return ((Map<?, ?>) storm.metric("ReplayBolt", 0, "bullet_created_replays")).get(name(storm, component, index));
    }

    private static Object active(SmallStorm storm, String component, int index) {
        return ((Map<?, ?>) storm.metric("ReplayBolt", 0, "bullet_active_replays")).get(name(storm, component, index));
    }

    private static long activeInSpouts(SmallStorm storm) {
        return (long) storm.metric("QuerySpout", 0, "bullet_active_replays")
            + (long) storm.metric("QuerySpout", 1, "bullet_active_replays");
    }
}
