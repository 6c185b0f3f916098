package io.github.bulletmetrics.storm.send;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.github.bulletmetrics.storm.Logged;
import io.github.bulletmetrics.storm.proto.v1.Acknowledgement;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.Rejection;
import io.github.bulletmetrics.storm.proto.v1.State;
import io.github.bulletmetrics.storm.send.FakeTransport.FakeStream;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Collectors that give states: what is held, what is handed over, where the sender goes. */
class MovesTest {
    private final Rig rig = new Rig(1_000, 10, "a:1", "b:2", "c:3");

    /** The first stream, open, its collector without a state, with so many full batches under way. */
    private FakeStream begun(int batches) {
        return begun(rig, batches);
    }

    private static FakeStream begun(Rig rig, int batches) {
        rig.exporter.step();
        FakeStream stream = rig.transport.last();
        stream.sayOpenedGivingStates(64, true, 0);
        rig.offerMany(10 * batches);
        rig.pass(0);
        assertThat(stream.sent).hasSize(batches);
        return stream;
    }

    /** The next stream that is begun. */
    private FakeStream next() {
        int before = rig.transport.streams.size();
        while (rig.transport.streams.size() == before) {
            rig.pass(10);
        }
        return rig.transport.last();
    }

    private FakeStream nextOpened(boolean wantsState, long takenSequence) {
        FakeStream next = next();
        next.sayOpenedGivingStates(64, wantsState, takenSequence);
        rig.pass(0);
        return next;
    }

    private List<Long> generations() {
        return rig.transport.opens.stream().map(Open::getGeneration).toList();
    }

    private static String text(List<State> states) {
        return ByteString.copyFrom(states.stream().map(State::getData).toList()).toStringUtf8();
    }

    @Test
    void whatIsAcknowledgedIsHeldUntilAStateHasIt() {
        FakeStream stream = begun(3);
        stream.sayAcknowledged(3);
        rig.pass(0);
        assertThat(rig.outbox.inFlight()).isZero();
        assertThat(rig.outbox.samples()).as("held, not under way").isEqualTo(30);
        rig.pass(rig.options.answerTimeoutMs * 2);
        assertThat(stream.cancelled).as("nothing is owed").isNull();
        stream.sayState(2, "ab", "cd");
        rig.pass(0);
        assertThat(rig.outbox.samples()).isEqualTo(10);
        assertThat(rig.queue.released()).isEqualTo(20);
    }

    @Test
    void theWindowIsOfWhatIsNotInTheJournal() {
        rig.exporter.step();
        FakeStream stream = rig.transport.last();
        stream.sayOpenedGivingStates(2, true, 0);
        rig.offerMany(50);
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L, 2L);
        stream.sayAcknowledged(2);
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L, 2L, 3L, 4L);
        assertThat(stream.sent.get(3).getOldestHeldSequence()).as("of those that may come again").isEqualTo(3);
    }

    @Test
    void fullGoesBackOnlyToWhatIsNotInTheJournal() {
        FakeStream stream = begun(4);
        stream.sayAcknowledged(2);
        stream.sayFull(1, 100);
        rig.pass(0);
        rig.pass(10_000);
        assertThat(stream.sequences()).containsExactly(1L, 2L, 3L, 4L, 3L, 4L);
    }

    @Test
    void everyStreamNamesTheEpochAndACutIsNoMove() {
        FakeStream stream = begun(3);
        stream.sayAcknowledged(2);
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        FakeStream again = nextOpened(false, 2);
        assertThat(rig.transport.addresses).containsExactly("a:1", "a:1");
        assertThat(generations()).containsExactly(1L, 1L);
        assertThat(rig.transport.opens).extracting(Open::getEpoch).containsOnly(stream.sent.get(0).getEpoch());
        assertThat(again.states).isEmpty();
        assertThat(again.sequences()).as("the others are in the journal").containsExactly(3L);
    }

    @Test
    void aCollectorThatIsLostIsFollowedByTheOthersWhichTakeTheStateAndWhatItLacks() {
        FakeStream stream = begun(5);
        stream.sayAcknowledged(5);
        stream.sayState(2, "ab", "cd");
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        next().end(StreamEnd.Kind.UNREACHABLE);
        rig.pass(0);
        rig.transport.last().end(StreamEnd.Kind.UNREACHABLE);
        rig.pass(0);
        FakeStream at = rig.transport.last();
        at.sayOpenedGivingStates(64, true, 0);
        rig.pass(0);
        assertThat(rig.transport.addresses).as("the same once more, then the others without a pause")
                .containsExactly("a:1", "a:1", "b:2", "c:3");
        assertThat(generations()).containsExactly(1L, 1L, 2L, 3L);
        assertThat(text(at.states)).isEqualTo("abcd");
        assertThat(at.states).extracting(State::getSequence).containsExactly(2L, 2L);
        assertThat(at.states).extracting(State::getLast).containsExactly(false, true);
        assertThat(at.states).extracting(State::getEpoch).containsOnly(stream.epoch());
        assertThat(at.batchesBefore).as("before the first batch").containsExactly(0, 0);
        assertThat(at.sequences()).as("the journal was the other's").startsWith(3L, 4L, 5L);
        assertThat(at.sent.get(0).getSamples()).isEqualTo(stream.sent.get(2).getSamples());
        assertThat(at.sent.get(0).getSeriesCount()).isEqualTo(3);
        rig.pass(1_000);
        assertThat(at.sent.get(3).getTopology()).as("once a stream").isEqualTo(Rig.TOPOLOGY);
    }

    @Test
    void whatABatchAnnouncedComesAgainWithItOnAMove() {
        rig.losses.droppedBetween(DropReason.DROP_REASON_QUEUE_FULL, 7, 1_000, 2_000);
        FakeStream stream = begun(2);
        stream.sayAcknowledged(2);
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        next().end(StreamEnd.Kind.UNREACHABLE);
        rig.pass(0);
        rig.transport.last().sayOpenedGivingStates(64, true, 2);
        rig.pass(0);
        assertThat(rig.transport.last().sequences()).as("under a new generation nothing is taken").startsWith(1L, 2L);
        Batch again = rig.transport.last().sent.get(0);
        assertThat(again.getGapsList()).hasSize(1).isEqualTo(stream.sent.get(0).getGapsList());
        assertThat(again.getDropsList()).hasSize(1);
        assertThat(again.getTopology()).isEqualTo(Rig.TOPOLOGY);
        assertThat(stream.sent.get(0).getFirstSendTimeMs()).isZero();
        assertThat(again.getFirstSendTimeMs()).as("the time that moves the topology's")
                .isEqualTo(stream.sent.get(0).getSendTimeMs()).isLessThan(again.getSendTimeMs());
    }

    @Test
    void whoHasNoStateSendsAnEmptyOne() {
        FakeStream stream = begun(1);
        assertThat(stream.states).singleElement().satisfies(state -> {
            assertThat(state.getData()).isEmpty();
            assertThat(state.getLast()).isTrue();
            assertThat(state.getSequence()).isZero();
            assertThat(state.getEpoch()).isEqualTo(stream.epoch());
        });
        assertThat(stream.batchesBefore).containsExactly(0);
    }

    @Test
    void aStateWithoutBytesLetsGoAndLeavesNone() {
        FakeStream stream = begun(3);
        stream.sayAcknowledged(3);
        stream.sayState(1, "ab");
        stream.sayState(2);
        rig.pass(0);
        assertThat(rig.outbox.samples()).isEqualTo(10);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        FakeStream next = nextOpened(true, 0);
        assertThat(next.states).singleElement().satisfies(state -> {
            assertThat(state.getData()).isEmpty();
            assertThat(state.getSequence()).isZero();
        });
        assertThat(next.sequences()).startsWith(3L);
    }

    @Test
    void onlyAWholeStateOfThisEpochAboutWhatWasSentTakesTheOldOnesPlace() {
        FakeStream stream = begun(4);
        stream.sayAcknowledged(4);
        stream.sayState(2, "old");
        stream.sayState(5, "of a batch that was not sent");
        stream.sayState(1, "older");
        stream.say(ExportResponse.newBuilder().setState(State.newBuilder()
                .setEpoch(ByteString.copyFromUtf8("somebody else's.")).setSequence(4).setLast(true)));
        stream.sayPart(3, ByteString.copyFromUtf8("half"), false);
        rig.pass(0);
        assertThat(stream.cancelled).isNull();
        assertThat(rig.outbox.samples()).isEqualTo(20);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        FakeStream next = nextOpened(true, 0);
        assertThat(text(next.states)).isEqualTo("old");
        next.sayState(3, "new");
        rig.pass(0);
        assertThat(rig.outbox.samples()).as("the half of the stream before is none of it").isEqualTo(10);
    }

    @Test
    void aStateThatBreaksTheRulesEndsTheStreamAndTheBatchesStay() {
        ByteString part = ByteString.copyFrom(new byte[TransferState.MAX_PART_BYTES]);
        FakeStream stream = begun(2);
        for (int parts = 0; parts < 64; parts++) {
            stream.sayPart(2, part, false);
            rig.pass(0);
        }
        assertThat(stream.cancelled).as("16 MiB").isNull();
        stream.sayPart(2, ByteString.copyFromUtf8("x"), true);
        rig.pass(0);
        assertThat(stream.cancelled).isEqualTo("its state has more than 16777216 bytes");
        assertThat(rig.outbox.samples()).isEqualTo(20);

        FakeStream next = nextOpened(true, 0);
        next.sayPart(2, part.concat(ByteString.copyFromUtf8("x")), true);
        rig.pass(0);
        assertThat(next.cancelled).contains("a part of its state has 262145 bytes");

        next = nextOpened(true, 0);
        next.sayPart(1, ByteString.copyFromUtf8("x"), false);
        next.sayPart(2, ByteString.copyFromUtf8("x"), true);
        rig.pass(0);
        assertThat(next.cancelled).contains("up to batches 1 and 2");
        assertThat(rig.outbox.samples()).isEqualTo(20);
    }

    @Test
    void aStateOfACollectorThatGivesNoneIsNoAnswer() {
        FakeStream stream = rig.opened(8);
        rig.pass(0);
        stream.sayState(1, "x");
        rig.pass(0);
        assertThat(stream.cancelled).contains("protocol error: unexpected message STATE");
    }

    @Test
    void aStateIsSentAsFastAsTheStreamTakesIt() {
        FakeStream stream = begun(3);
        stream.sayState(2, "a", "b", "c");
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        FakeStream next = next();
        next.ready = false;
        next.sayOpenedGivingStates(64, true, 0);
        rig.pass(0);
        assertThat(next.states).isEmpty();
        rig.pass(rig.options.answerTimeoutMs);
        assertThat(next.cancelled).as("a collector that does not read is left").contains("no answer");
        next = nextOpened(true, 0);
        assertThat(text(next.states)).isEqualTo("abc");
        assertThat(next.sequences()).startsWith(3L);
    }

    @Test
    void largePartsAreNoAnswersToCount() {
        FakeStream stream = begun(1);
        stream.sayAcknowledged(1);
        ByteString part = ByteString.copyFrom(new byte[LiveStream.LARGE_PART_BYTES]);
        for (int number = 1; number <= 1_000; number++) {
            stream.sayPart(1, part, number % 100 == 0);
            rig.pass(0);
        }
        assertThat(stream.cancelled).isNull();
        assertThat(rig.outbox.samples()).isZero();
    }

    @Test
    void manyStatesAreNoFloodAndAFloodOfThemIsOne() {
        FakeStream stream = begun(1);
        stream.sayAcknowledged(1);
        for (int second = 0; second < 600; second++) {
            stream.sayState(1, "state");
            rig.pass(1_000);
        }
        assertThat(stream.cancelled).isNull();
        for (int state = 0; state <= LiveStream.MAX_UNASKED_ANSWERS + stream.sent.size(); state++) {
            stream.sayState(1, "state");
            rig.pass(0);
        }
        assertThat(stream.cancelled).contains("unsolicited");
    }

    @Test
    void partsThatWaitToBeTakenWaitAtTheCollector() {
        FakeStream stream = begun(1);
        assertThat(stream.credit).isEqualTo(Transport.Stream.ANSWERS_AHEAD);
        ByteString part = ByteString.copyFrom(new byte[TransferState.MAX_PART_BYTES]);
        while (stream.credit > 0) {
            stream.sayPart(1, part, false);
        }
        rig.pass(0);
        assertThat(stream.cancelled).as("as many as are handed over fit").isNull();
        assertThat(stream.credit).isEqualTo(Transport.Stream.ANSWERS_AHEAD);
    }

    @Test
    void anotherUnderTheSameAddressIsNotMetUnderTheSameGenerationAgain() {
        FakeStream stream = begun(2);
        stream.sayState(1, "x");
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        nextOpened(true, 0).end(StreamEnd.Kind.LOST);
        rig.pass(0);
        while (!rig.transport.addresses.get(rig.transport.addresses.size() - 1).equals("a:1")
                || rig.transport.streams.size() < 3) {
            rig.transport.last().end(StreamEnd.Kind.UNREACHABLE);
            rig.pass(1_000);
        }
        assertThat(generations().get(1)).isEqualTo(1);
        assertThat(generations().subList(2, generations().size())).doesNotContain(1L).doesNotHaveDuplicates();
    }

    /** The first generation begins without a state, also at a collector that lost its disk. */
    @Test
    void whoHasLessThanTheStateIsToTakeIt() {
        FakeStream stream = begun(3);
        stream.sayAcknowledged(3);
        stream.sayState(2, "x");
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        FakeStream again = nextOpened(false, 0);
        assertThat(again.cancelled).isNotNull();
        assertThat(again.sent).isEmpty();
        assertThat(rig.transport.addresses).as("without a pause").containsExactly("a:1", "a:1", "a:1");
        assertThat(generations()).containsExactly(1L, 1L, 2L);
        rig.transport.last().sayOpenedGivingStates(64, true, 0);
        rig.pass(0);
        assertThat(text(rig.transport.last().states)).isEqualTo("x");
        assertThat(rig.transport.last().sequences()).startsWith(3L);
    }

    @Test
    void aCollectorThatBreaksOffAgainAndAgainIsLeftForTheOthers() {
        for (int i = 0; i < 3; i++) {
            FakeStream stream = i == 0 ? begun(1) : nextOpened(true, 0);
            stream.sayAcknowledged(Long.MAX_VALUE);
            rig.pass(0);
            stream.end(StreamEnd.Kind.LOST);
            rig.pass(0);
        }
        assertThat(rig.transport.addresses).containsExactly("a:1", "a:1", "b:2");
        nextOpened(true, 0).end(StreamEnd.Kind.LOST);
        rig.pass(0);
        assertThat(rig.transport.addresses).as("nobody is passed over for those that open and break off")
                .containsExactly("a:1", "a:1", "b:2", "b:2", "c:3");
    }

    @Test
    void withoutStatesAStreamThatBrokeIsFollowedByTheFirstAddress() {
        rig.exporter.step();
        rig.transport.last().end(StreamEnd.Kind.UNREACHABLE);
        rig.pass(0);
        FakeStream second = rig.transport.last();
        second.sayOpened(8);
        rig.pass(0);
        second.sayAcknowledged(1);
        for (int minute = 0; minute < 5; minute++) {
            rig.pass(60_000);
        }
        assertThat(rig.transport.addresses).as("nor does it look for the first").containsExactly("a:1", "b:2");
        second.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        next();
        assertThat(rig.transport.addresses).containsExactly("a:1", "b:2", "a:1");
    }

    /** The sender at b:2, a state of "x" up to batch 1, batch 2 in the journal, batch 3 under way. */
    private FakeStream away() {
        FakeStream first = begun(3);
        first.sayState(1, "x");
        rig.pass(0);
        first.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        next().end(StreamEnd.Kind.UNREACHABLE);
        rig.pass(0);
        FakeStream second = rig.transport.last();
        second.sayOpenedGivingStates(64, true, 0);
        rig.pass(0);
        second.sayAcknowledged(2);
        rig.pass(0);
        assertThat(rig.transport.addresses).containsExactly("a:1", "a:1", "b:2");
        return second;
    }

    private void keepAlive(FakeStream stream, long ms) {
        for (long passed = 0; passed < ms; passed += 1_000) {
            rig.pass(1_000);
            stream.sayAcknowledged(Long.MAX_VALUE);
        }
        rig.pass(0);
    }

    @Test
    void afterAMinuteElsewhereTheFirstIsTriedBesideAndMovedToWhenItOpens() {
        FakeStream second = away();
        keepAlive(second, 59_000);
        assertThat(rig.transport.streams).hasSize(3);
        keepAlive(second, 1_000);
        FakeStream beside = rig.transport.last();
        assertThat(rig.transport.addresses).endsWith("b:2", "a:1");
        assertThat(generations()).containsExactly(1L, 1L, 2L, 3L);
        assertThat(second.cancelled).isNull();
        rig.offerMany(10);
        keepAlive(second, 1_000);
        int sent = second.sent.size();
        assertThat(second.sent.get(sent - 1).getSamples().getValuesCount()).as("the old stream goes on").isEqualTo(10);
        beside.sayOpenedGivingStates(64, true, 0);
        rig.pass(0);
        assertThat(second.cancelled).isNotNull();
        assertThat(text(beside.states)).isEqualTo("x");
        assertThat(beside.sequences().get(0)).isEqualTo(2);
        rig.offerMany(10);
        rig.pass(0);
        assertThat(second.sent).hasSize(sent);
        keepAlive(beside, 300_000);
        assertThat(rig.transport.streams).as("it is where it belongs").hasSize(4);
    }

    @Test
    void aReturnThatFailsDisturbsNothingAndIsTriedEachMinute() {
        FakeStream second = away();
        try (Logged logged = new Logged(OutageLog.class)) {
            keepAlive(second, 60_000);
            rig.transport.last().end(StreamEnd.Kind.UNREACHABLE);
            rig.pass(0);
            keepAlive(second, 60_000);
            assertThat(rig.transport.streams).hasSize(5);
            keepAlive(second, rig.options.openTimeoutMs);
            assertThat(rig.transport.last().cancelled).as("it did not open in time").isNotNull();
            keepAlive(second, 60_000);
            assertThat(rig.transport.streams).hasSize(6);
            rig.transport.last().sayOpened(8);
            rig.pass(0);
            assertThat(rig.transport.last().cancelled).as("it gives no states").isNotNull();
            assertThat(logged.lines()).isEmpty();
        }
        assertThat(second.cancelled).isNull();
        assertThat(generations()).containsExactly(1L, 1L, 2L, 3L, 4L, 5L);
        FakeStream beside = rig.transport.last();
        second.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        assertThat(next()).isNotSameAs(beside);
        assertThat(generations()).as("a cut where it is").endsWith(2L);
    }

    @Test
    void aStreamThatIsLostTakesTheOneBesideItAlong() {
        FakeStream second = away();
        keepAlive(second, 60_000);
        FakeStream beside = rig.transport.last();
        second.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        assertThat(beside.cancelled).isNotNull();
        next();
        assertThat(rig.transport.addresses).endsWith("b:2", "a:1", "b:2");
    }

    @Test
    void theEndIsNoTimeToMove() {
        FakeStream second = away();
        keepAlive(second, 60_000);
        FakeStream beside = rig.transport.last();
        assertThat(rig.transport.addresses).endsWith("a:1");
        rig.close();
        beside.sayOpenedGivingStates(64, true, 0);
        rig.pass(0);
        assertThat(beside.cancelled).isNotNull();
        assertThat(second.cancelled).isNull();
        assertThat(second.sent.get(second.sent.size() - 1).getClosing()).isTrue();
    }

    @Test
    void aReturnThatDoesNotLastDoublesThePause() {
        FakeStream at = away();
        long expected = 60_000;
        for (int round = 0; round < 7; round++) {
            long from = rig.time.nowMs;
            int streams = rig.transport.streams.size();
            while (rig.transport.streams.size() == streams) {
                keepAlive(at, 1_000);
            }
            assertThat(rig.time.nowMs - from).as("round %d", round).isEqualTo(expected);
            expected = Math.min(expected * 2, 960_000);
            FakeStream first = rig.transport.last();
            first.sayOpenedGivingStates(64, true, 0);
            keepAlive(first, 1_000);
            first.end(StreamEnd.Kind.LOST);
            rig.pass(0);
            next().end(StreamEnd.Kind.UNREACHABLE);
            rig.pass(0);
            at = rig.transport.last();
            assertThat(rig.transport.addresses).endsWith("b:2");
            at.sayOpenedGivingStates(64, true, 0);
            rig.pass(0);
        }
    }

    @Test
    void aReturnThatLastedSetsThePauseBack() {
        FakeStream at = away();
        for (long lasted : new long[] {1_000, 60_000}) {
            int streams = rig.transport.streams.size();
            while (rig.transport.streams.size() == streams) {
                keepAlive(at, 1_000);
            }
            FakeStream first = rig.transport.last();
            first.sayOpenedGivingStates(64, true, 0);
            rig.pass(0);
            keepAlive(first, lasted);
            first.end(StreamEnd.Kind.LOST);
            rig.pass(0);
            next().end(StreamEnd.Kind.UNREACHABLE);
            rig.pass(0);
            at = rig.transport.last();
            at.sayOpenedGivingStates(64, true, 0);
            rig.pass(0);
        }
        keepAlive(at, 59_000);
        int streams = rig.transport.streams.size();
        keepAlive(at, 1_000);
        assertThat(rig.transport.streams).hasSize(streams + 1);
    }

    @Test
    void atTheEndWhatIsInTheJournalIsDelivered() {
        FakeStream stream = begun(3);
        stream.sayAcknowledged(2);
        rig.close();
        rig.pass(0);
        assertThat(stream.sent.get(stream.sent.size() - 1).getClosing()).isTrue();
        assertThat(stream.finished).isFalse();
        stream.sayAcknowledged(Long.MAX_VALUE);
        rig.pass(0);
        assertThat(stream.finished).isTrue();
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        assertThat(rig.exporter.isDone()).isTrue();
        assertThat(rig.losses.total()).isZero();
    }

    @Test
    void atTheEndOnlyWhatIsInNoJournalIsLost() {
        FakeStream stream = begun(3);
        stream.sayAcknowledged(1);
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.close();
        rig.pass(rig.options.closeTimeoutMs);
        assertThat(rig.exporter.isDone()).isTrue();
        assertThat(rig.losses.total(DropReason.DROP_REASON_CLOSED)).isEqualTo(20);
    }

    @Test
    void whatTheJournalHasForAnHourIsLostOnlyWithAMove() {
        FakeStream stream = begun(2);
        stream.sayAcknowledged(2);
        keepAlive(stream, rig.options.keepMs + 30_000);
        assertThat(rig.outbox.samples()).isZero();
        assertThat(rig.losses.total()).isZero();
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        FakeStream again = nextOpened(false, 2);
        assertThat(rig.losses.total()).as("a cut").isZero();
        again.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        nextOpened(true, 0);
        assertThat(rig.losses.total(DropReason.DROP_REASON_EXPIRED)).isEqualTo(20);
        rig.pass(1_000);
        assertThat(rig.transport.last().sent).flatExtracting(Batch::getGapsList).hasSize(1);
    }

    @Test
    void aStateThatComesLateMakesUpForWhatWasLetGo() {
        FakeStream stream = begun(2);
        stream.sayAcknowledged(2);
        keepAlive(stream, rig.options.keepMs + 30_000);
        stream.sayState(2, "x");
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        nextOpened(true, 0);
        assertThat(rig.losses.total()).isZero();
    }

    @Test
    void aFullQueueLetsGoOfWhatTheJournalHasAndTakesWhatIsNew() {
        FakeStream stream = begun(2);
        for (int i = 0; i < 500; i++) {
            for (int sample = 0; sample < 10; sample++) {
                assertThat(rig.offer(0, i)).as("sample %d of batch %d", sample, i).isTrue();
            }
            rig.pass(100);
            stream.sayAcknowledged(Long.MAX_VALUE);
            rig.pass(0);
        }
        assertThat(rig.losses.total()).isZero();
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        nextOpened(true, 0);
        assertThat(rig.losses.total(DropReason.DROP_REASON_QUEUE_FULL) + rig.outbox.samples()).isEqualTo(5_020);
    }

    @Test
    void aStateThatIsNotUnderstoodTwiceIsAbandonedAndNoBatchWithIt() {
        FakeStream stream = begun(3);
        stream.sayAcknowledged(3);
        stream.sayState(2, "x");
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        FakeStream at = nextOpened(true, 0);
        int refusals = 0;
        for (; refusals < 10 && !text(at.states).isEmpty(); refusals++) {
            at.end(StreamEnd.Kind.NOT_UNDERSTOOD);
            rig.pass(0);
            at = nextOpened(true, 0);
        }
        assertThat(refusals).as("once with a batch, twice alone").isEqualTo(3);
        assertThat(at.sequences()).containsExactly(3L);
        assertThat(rig.losses.total()).isZero();
    }

    @Test
    void aBatchBehindAStateIsFoundAtFaultByItself() {
        FakeStream stream = begun(4);
        stream.sayState(2, "x");
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        FakeStream at = nextOpened(true, 0);
        for (int attempt = 0; attempt < 10 && !at.sequences().contains(4L) || attempt == 0; attempt++) {
            at.end(StreamEnd.Kind.NOT_UNDERSTOOD);
            rig.pass(0);
            at = nextOpened(true, 0);
            assertThat(at.sent).as("the state goes alone").isEmpty();
            for (int step = 0; step < 30 && at.sent.isEmpty(); step++) {
                rig.pass(100);
            }
        }
        assertThat(at.sequences()).as("3 was the one").containsExactly(4L);
        assertThat(text(at.states)).isEqualTo("x");
        assertThat(rig.losses.total(DropReason.DROP_REASON_INTERNAL)).isEqualTo(10);
    }

    @Test
    void samplesThatWereRefusedByTwoCollectorsCountOnce() {
        FakeStream stream = begun(1);
        sayRejected(stream);
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        sayRejected(nextOpened(true, 0));
        rig.pass(0);
        assertThat(rig.exporter.rejectedSamples()).containsValue(4L).hasSize(1);
    }

    private static void sayRejected(FakeStream stream) {
        stream.say(ExportResponse.newBuilder().setAcknowledgement(
                Acknowledgement.newBuilder().setEpoch(stream.epoch())
                .setSequence(1).addRejections(Rejection.newBuilder()
                .setSequence(1).setSamples(4))));
    }
}
