package io.github.bulletmetrics.storm.send;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.github.bulletmetrics.storm.proto.v1.Acknowledgement;
import io.github.bulletmetrics.storm.proto.v1.Annotation;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.DropReason;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.HistogramSample;
import io.github.bulletmetrics.storm.proto.v1.Rejection;
import io.github.bulletmetrics.storm.proto.v1.SeriesDefinition;
import io.github.bulletmetrics.storm.proto.v1.WorkerClock;
import io.github.bulletmetrics.storm.send.FakeTransport.FakeStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

class ExporterTest {
    private final Rig rig = new Rig(1_000, 10);

    @Test
    void nothingIsSentBeforeTheCollectorHasOpened() {
        rig.offerMany(25);
        rig.exporter.step();
        assertThat(rig.transport.last().sent).isEmpty();
        rig.transport.last().sayOpened(8);
        rig.exporter.step();
        assertThat(rig.transport.last().sequences()).containsExactly(1L, 2L, 3L);
    }

    @Test
    void aBatchThatIsNotFullWaitsForASecondAtMost() {
        FakeStream stream = rig.opened(8);
        rig.pass(0);
        stream.sayAcknowledged(1);
        rig.offerMany(3);
        rig.pass(999);
        assertThat(stream.sequences()).as("only the topology, at once").containsExactly(1L);
        rig.pass(1);
        assertThat(stream.sequences()).containsExactly(1L, 2L);
        assertThat(stream.sent.get(1).getSamples().getValuesList()).containsExactly(0.0, 1.0, 2.0);
    }

    @Test
    void liveSamplesLeaveAtOnceWithWhatWaits() {
        FakeStream stream = rig.opened(8);
        rig.pass(0);
        stream.sayAcknowledged(1);
        rig.pass(250);
        rig.offerMany(3);
        rig.exporter.sendLive();
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L, 2L);
        assertThat(stream.sent.get(1).getSamples().getValuesList()).containsExactly(0.0, 1.0, 2.0);
        rig.offer(0, 3);
        rig.pass(999);
        assertThat(stream.sequences()).as("no live sample").containsExactly(1L, 2L);
        rig.pass(1);
        assertThat(stream.sequences()).containsExactly(1L, 2L, 3L);
    }

    @Test
    void thereAreAtMostFourBatchesASecondOfLiveSamples() {
        FakeStream stream = rig.opened(64);
        rig.pass(0);
        for (int i = 0; i < 20; i++) {
            rig.offer(0, i);
            rig.exporter.sendLive();
            rig.pass(50);
        }
        rig.pass(250);
        assertThat(stream.sequences()).hasSizeBetween(4, 6);
        assertThat(stream.sent.stream().mapToInt(batch -> batch.getSamples().getValuesCount()).sum()).isEqualTo(20);
    }

    @Test
    void liveSamplesThatFindTheWindowFullLeaveWithTheNextAcknowledgement() {
        rig.options.firstWindow = 1;
        FakeStream stream = rig.opened(8);
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L);
        rig.pass(250);
        rig.offer(0, 7);
        rig.exporter.sendLive();
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L);
        stream.sayAcknowledged(1);
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L, 2L);
    }

    @Test
    void theStreamBeginsWithTheTopologyAndASeriesIsDefinedOnce() {
        FakeStream stream = rig.opened(8);
        rig.offerMany(20);
        rig.pass(0);
        assertThat(stream.sent.get(0).getTopology()).isEqualTo(Rig.TOPOLOGY);
        assertThat(stream.sent.get(1).hasTopology()).isFalse();
        assertThat(stream.sent.get(0).getSeriesList()).extracting(SeriesDefinition::getId).containsExactly(1, 2, 3);
        assertThat(stream.sent.get(1).getSeriesList()).isEmpty();
    }

    @Test
    void aDistributionTravelsWithItsSeriesAndCountsByItsSize() {
        FakeStream stream = rig.opened(8);
        rig.offerDistribution(7);
        rig.offer(0, 1);
        rig.offerDistribution(8);
        rig.pass(1_000);
        Batch batch = stream.sent.get(stream.sent.size() - 1);
        assertThat(batch.getSeriesList()).extracting(SeriesDefinition::getId).containsExactly(1_000, 1);
        assertThat(batch.getHistogramsList()).extracting(histogram -> histogram.getCount()).containsExactly(7L, 8L);
        assertThat(batch.getSamples().getValuesList()).containsExactly(1.0);
        stream.sayAcknowledged(batch.getSequence());
        rig.pass(0);
        assertThat(rig.queue.released()).isEqualTo(3);
        rig.offerDistribution(9);
        rig.pass(1_000);
        batch = stream.sent.get(stream.sent.size() - 1);
        assertThat(batch.getHistogramsCount()).isEqualTo(1);
        assertThat(batch.hasSamples()).isFalse();
    }

    /**
     * No encoder of protobuf's writes fields in this order: what arrives so was not encoded again, nor was it the
     * second time.
     */
    @Test
    void aDistributionTravelsAsItWasEncoded() {
        ByteString fields = HistogramSample.newBuilder().setCount(300).build().toByteString()
                .concat(HistogramSample.newBuilder().setSeriesId(1_000).build().toByteString());
        FakeStream first = rig.opened(8);
        rig.offerDistribution(fields);
        rig.pass(1_000);
        first.end(StreamEnd.Kind.LOST);
        FakeStream second = rig.nextOpened(8);
        rig.pass(0);
        for (FakeStream stream : List.of(first, second)) {
            assertThat(stream.sent).flatExtracting(Batch::getHistogramsList).extracting(HistogramSample::getCount)
                    .containsExactly(300L);
            assertThat(stream.encoded).anySatisfy(batch -> assertThat(latin1(batch)).contains(latin1(fields)));
        }
    }

    private static String latin1(ByteString bytes) {
        return bytes.toString(StandardCharsets.ISO_8859_1);
    }

    @Test
    void noMoreIsUnderWayThanTheWindowAllows() {
        FakeStream stream = rig.opened(2);
        rig.offerMany(50);
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L, 2L);
        stream.sayAcknowledged(1);
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L, 2L, 3L);
    }

    @Test
    void aStreamStartsSlowly() {
        rig.options.firstWindow = 1;
        FakeStream stream = rig.opened(8);
        rig.offerMany(300);
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L);
        stream.sayAcknowledged(1);
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L, 2L, 3L);
        stream.sayAcknowledged(2);
        rig.pass(0);
        assertThat(rig.outbox.inFlight()).isEqualTo(4);
        stream.sayAcknowledged(3);
        rig.pass(0);
        assertThat(rig.outbox.inFlight()).as("the window").isEqualTo(8);
        stream.sayFull(5, 100);
        stream.sayAcknowledged(4);
        rig.pass(rig.options.maxBackoffMs);
        rig.pass(rig.options.maxBackoffMs);
        assertThat(rig.outbox.inFlight()).isLessThanOrEqualTo(2);
    }

    @Test
    void aCollectorThatIsAlwaysFullCostsABatchEachTime() {
        rig.options.firstWindow = 1;
        FakeStream stream = rig.opened(64);
        rig.offerMany(900);
        for (int i = 0; i < 6_000; i++) {
            rig.pass(10);
            if (rig.outbox.inFlight() > 0) {
                stream.sayFull(rig.outbox.firstUnacknowledged(), 0);
            }
        }
        assertThat(stream.sent.size()).as("batches sent in a minute").isBetween(15, 60);
        assertThat(rig.losses.total()).isZero();
    }

    @Test
    void aCollectorThatAcknowledgesOneBatchAndBreaksOffCostsFewStreams() {
        rig.options.firstWindow = 1;
        rig.offerMany(900);
        for (int i = 0; i < 6_000; i++) {
            rig.pass(10);
            FakeStream stream = rig.transport.last();
            if (stream.sent.isEmpty() && stream.cancelled == null) {
                stream.sayOpened(64);
                rig.exporter.step();
                stream.sayAcknowledged(Long.MAX_VALUE);
                rig.exporter.step();
                stream.end(StreamEnd.Kind.LOST);
            }
        }
        assertThat(rig.transport.streams.size()).as("streams in a minute").isBetween(8, 20);
        assertThat(rig.transport.streams).allSatisfy(stream -> assertThat(stream.sent.size()).isLessThanOrEqualTo(3));
    }

    @Test
    void aStreamThatIsNotReadyGetsNothing() {
        FakeStream stream = rig.opened(8);
        stream.ready = false;
        rig.offerMany(50);
        rig.pass(0);
        assertThat(stream.sent).isEmpty();
        stream.ready = true;
        rig.pass(0);
        assertThat(stream.sent).hasSize(5);
    }

    @Test
    void afterFullItWaitsAndGoesOnFromTheBatchNamedWithItsDefinitions() {
        FakeStream stream = rig.opened(8);
        rig.offerMany(10);
        rig.pass(0);
        for (int i = 0; i < 20; i++) {
            rig.offer(5, i);
        }
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L, 2L, 3L);
        stream.sayFull(2, 3_000);
        stream.sayFull(3, 3_000);
        rig.pass(0);
        stream.sayAcknowledged(1);
        rig.pass(2_999);
        assertThat(stream.sequences()).containsExactly(1L, 2L, 3L);
        rig.pass(1);
        assertThat(stream.sequences()).containsExactly(1L, 2L, 3L, 2L, 3L);
        Batch again = stream.sent.get(3);
        assertThat(again.getOldestHeldSequence()).isEqualTo(2);
        assertThat(again.getSeriesList()).as("it may not have kept what it refused").extracting(SeriesDefinition::getId)
                .containsExactly(6);
        assertThat(stream.sent.get(4).getSeriesList()).isEmpty();
        assertThat(rig.transport.streams).hasSize(1);
    }

    @Test
    void aBrokenStreamIsFollowedByAnotherThatBeginsWithTheFirstUnacknowledgedBatch() {
        FakeStream first = rig.opened(8);
        rig.offerMany(30);
        rig.pass(0);
        first.sayAcknowledged(1);
        first.end(StreamEnd.Kind.LOST);
        FakeStream second = rig.nextOpened(8);
        rig.pass(0);
        assertThat(rig.transport.streams).hasSize(2);
        assertThat(second.sequences().subList(0, 2)).containsExactly(2L, 3L);
        assertThat(second.sent.get(0).getSamples()).isEqualTo(first.sent.get(1).getSamples());
        assertThat(second.sent.get(0).getSeriesCount()).isEqualTo(3);
    }

    @Test
    void addressesAreTriedInOrderAndARoundOfFailuresIsFollowedByAPause() {
        Rig three = new Rig(100, 10, "a:1", "b:2", "c:3");
        for (int i = 0; i < 3; i++) {
            three.exporter.step();
            three.transport.last().end(StreamEnd.Kind.LOST);
            three.exporter.step();
        }
        assertThat(three.transport.addresses).containsExactly("a:1", "b:2", "c:3");
        three.pass(three.options.minBackoffMs);
        assertThat(three.transport.addresses).containsExactly("a:1", "b:2", "c:3", "a:1");
    }

    @Test
    void whoeverComesBackIsNoticedWithinTenSeconds() {
        long longestRefused = 0;
        long longestPause = 0;
        long longestBroken = 0;
        for (int attempt = 0; attempt < 200; attempt++) {
            longestRefused = Math.max(longestRefused, msToTheNextAfter(StreamEnd.Kind.UNREACHABLE));
        }
        for (int attempt = 0; attempt < 200; attempt++) {
            longestBroken = Math.max(longestBroken, msToTheNextAfter(StreamEnd.Kind.LOST));
        }
        for (int attempt = 0; attempt < 200; attempt++) {
            int streams = rig.transport.streams.size();
            while (rig.transport.last().cancelled == null) {
                rig.pass(10);
            }
            long from = rig.time.nowMs;
            while (rig.transport.streams.size() == streams) {
                rig.pass(10);
            }
            longestPause = Math.max(longestPause, rig.time.nowMs - from);
        }
        assertThat(longestRefused).as("from a refused attempt to the next, ms").isLessThanOrEqualTo(3_010)
                .isGreaterThan(1_000);
        assertThat(longestBroken).as("from a stream that broke off to the next, ms").isLessThanOrEqualTo(8_010)
                .isGreaterThan(3_010);
        assertThat(longestPause + rig.options.longOpenTimeoutMs - 7_000)
                .as("from TCP's last knock at a black hole to the next, ms").isLessThan(10_000);
    }

    private long msToTheNextAfter(StreamEnd.Kind end) {
        if (rig.transport.streams.isEmpty()) {
            rig.exporter.step();
        }
        rig.transport.last().end(end);
        rig.exporter.step();
        long from = rig.time.nowMs;
        rig.nextOpened(8);
        return rig.time.nowMs - from;
    }

    @Test
    void whoBreaksOffAtOnceIsTriedLessOftenThanWhoIsNotThere() {
        assertThat(attemptsInTenMinutes(StreamEnd.Kind.UNREACHABLE)).isBetween(200, 400);
        assertThat(attemptsInTenMinutes(StreamEnd.Kind.LOST)).isBetween(75, 150);
        assertThat(attemptsInTenMinutes(StreamEnd.Kind.BUSY)).isBetween(75, 150);
    }

    private static int attemptsInTenMinutes(StreamEnd.Kind end) {
        Rig broken = new Rig(100, 10);
        for (int i = 0; i < 60_000; i++) {
            broken.pass(10);
            if (broken.transport.last().cancelled == null) {
                broken.transport.last().end(end);
            }
        }
        return broken.transport.streams.size();
    }

    @Test
    void amongSeveralTheOneThatBreaksOffSetsThePause() {
        Rig two = new Rig(100, 10, "a:1", "b:2");
        for (int i = 0; i < 60_000; i++) {
            two.pass(10);
            if (two.transport.last().cancelled == null) {
                boolean first = two.transport.streams.size() % 2 == 1;
                two.transport.last().end(first ? StreamEnd.Kind.LOST : StreamEnd.Kind.UNREACHABLE);
            }
        }
        assertThat(two.transport.streams.size()).as("in ten minutes, at two addresses").isBetween(150, 300);
    }

    @Test
    void onlyAStreamThatLivedAndAcknowledgedShortensThePauses() {
        for (int i = 0; i < 20; i++) {
            msToTheNextAfter(StreamEnd.Kind.LOST);
        }
        rig.pass(0);
        rig.transport.last().sayAcknowledged(1);
        rig.pass(0);
        assertThat(msToTheNextAfter(StreamEnd.Kind.LOST)).as("it acknowledged, but did not live")
                .isGreaterThanOrEqualTo(4_000);
        rig.pass(0);
        rig.transport.last().sayAcknowledged(Long.MAX_VALUE);
        rig.pass(rig.options.steadyMs);
        rig.offerMany(10);
        rig.pass(0);
        rig.transport.last().sayAcknowledged(Long.MAX_VALUE);
        rig.pass(0);
        assertThat(msToTheNextAfter(StreamEnd.Kind.LOST)).as("it did both")
                .isLessThanOrEqualTo(rig.options.minBackoffMs);
    }

    @Test
    void aStreamThatAnswersNoBatchIsGivenUp() {
        FakeStream stream = rig.opened(8);
        rig.offerMany(10);
        rig.pass(0);
        rig.pass(rig.options.answerTimeoutMs - 1);
        assertThat(stream.cancelled).isNull();
        rig.pass(1);
        assertThat(stream.cancelled).contains("no answer");
    }

    @Test
    void aStreamWithNothingUnderWayMayBeSilent() {
        FakeStream stream = rig.opened(8);
        rig.pass(0);
        stream.sayAcknowledged(1);
        for (int i = 0; i < 100; i++) {
            rig.pass(1_000);
        }
        assertThat(stream.cancelled).isNull();
        assertThat(rig.transport.streams).hasSize(1);
    }

    @Test
    void whoBreaksTheProtocolIsLeft() {
        rig.exporter.step();
        rig.transport.last().sayAcknowledged(1);
        rig.exporter.step();
        assertThat(rig.transport.streams.get(0).cancelled).contains("protocol error");

        Rig other = new Rig(100, 10);
        FakeStream stream = other.opened(8);
        other.pass(0);
        stream.say(ExportResponse.newBuilder());
        other.exporter.step();
        assertThat(stream.cancelled).contains("protocol error");
    }

    @Test
    void anAcknowledgementOfWhatWasNotSentIsNone() {
        FakeStream stream = rig.opened(1);
        rig.offerMany(30);
        rig.pass(0);
        stream.sayAcknowledged(Long.MAX_VALUE);
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L, 2L);
        assertThat(rig.outbox.samples()).isEqualTo(20);
    }

    @Test
    void aRefusalThatOnlyAPersonCanLiftDoesNotMakeItSpin() {
        for (StreamEnd.Kind kind : new StreamEnd.Kind[] {StreamEnd.Kind.DENIED, StreamEnd.Kind.NOT_UNDERSTOOD}) {
            Rig refused = new Rig(100, 10);
            for (int i = 0; i < 600; i++) {
                refused.pass(100);
                if (refused.transport.last().cancelled == null) {
                    refused.transport.last().end(kind);
                }
            }
            assertThat(refused.transport.streams.size()).as("attempts in a minute, %s", kind).isBetween(5, 7);
        }
    }

    @Test
    void aBatchThatIsNotUnderstoodTwiceIsGivenUpAndTheOthersGetThrough() {
        long poison = 4;
        rig.offerMany(60);
        java.util.Set<Long> taken = new java.util.TreeSet<>();
        for (int i = 0; i < 3_000 && !(taken.contains(6L) && taken.contains(5L)); i++) {
            rig.pass(100);
            FakeStream stream = rig.transport.last();
            if (stream.sent.isEmpty() && stream.cancelled == null) {
                stream.sayOpened(8);
                rig.exporter.step();
            }
            for (Batch batch : stream.sent) {
                if (batch.getSequence() == poison) {
                    stream.end(StreamEnd.Kind.NOT_UNDERSTOOD);
                    break;
                }
                taken.add(batch.getSequence());
                stream.sayAcknowledged(batch.getSequence());
            }
        }
        assertThat(taken).contains(1L, 2L, 3L, 5L, 6L).doesNotContain(poison);
        assertThat(rig.losses.total(DropReason.DROP_REASON_INTERNAL)).isEqualTo(10);
        assertThat(rig.losses.total()).isEqualTo(10);
    }

    @Test
    void whatIsOlderThanAnHourIsGivenUpAndSaidSo() {
        FakeStream stream = rig.opened(2);
        rig.offerMany(25);
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        for (long passed = 0; passed < rig.options.keepMs - 60_000; passed += 10_000) {
            rig.pass(10_000);
        }
        assertThat(rig.losses.total()).isZero();
        rig.offerMany(5);
        for (int i = 0; i < 10; i++) {
            rig.pass(10_000);
        }
        assertThat(rig.losses.total(DropReason.DROP_REASON_EXPIRED)).isEqualTo(25);
        assertThat(rig.outbox.samples()).isEqualTo(5);

        FakeStream next = rig.nextOpened(8);
        rig.pass(1_000);
        Batch batch = next.sent.get(0);
        assertThat(batch.getSequence()).isEqualTo(3);
        assertThat(batch.getOldestHeldSequence()).isEqualTo(3);
        assertThat(batch.getSamples().getValuesCount()).isEqualTo(5);
        assertThat(batch.getDropsList()).singleElement()
                .satisfies(drop -> assertThat(drop.getTotalSamples()).isEqualTo(25));
        assertThat(batch.getGapsList()).singleElement()
                .satisfies(gap -> assertThat(gap.getReason()).isEqualTo(DropReason.DROP_REASON_EXPIRED));
        assertThat(batch.hasTopology()).isTrue();
    }

    @Test
    void afterABatchUnderWayExpiredTheNextDefineTheirSeriesAgain() {
        FakeStream stream = rig.opened(8);
        rig.offerMany(10);
        rig.pass(0);
        for (long passed = 0; passed <= rig.options.keepMs + 30_000; passed += 5_000) {
            stream.sayFull(1, 1_000);
            rig.pass(5_000);
        }
        assertThat(rig.losses.total(DropReason.DROP_REASON_EXPIRED)).isEqualTo(10);
        rig.offerMany(10);
        rig.pass(5_000);
        Batch last = stream.sent.get(stream.sent.size() - 1);
        assertThat(last.getSamples().getValuesCount()).isEqualTo(10);
        assertThat(last.getSeriesCount()).isEqualTo(3);
    }

    @Test
    void dropsAreReportedOnceACountAndAgainToTheNextStream() {
        FakeStream stream = rig.opened(8);
        rig.pass(0);
        rig.losses.droppedBetween(DropReason.DROP_REASON_QUEUE_FULL, 7, 1_000, 2_000);
        rig.pass(1_000);
        assertThat(stream.sent.get(1).getDropsList()).singleElement()
                .satisfies(drop -> assertThat(drop.getTotalSamples()).isEqualTo(7));
        assertThat(stream.sent.get(1).getGapsCount()).isEqualTo(1);
        rig.pass(1_000);
        assertThat(stream.sent).hasSize(2);
        stream.sayAcknowledged(2);
        stream.end(StreamEnd.Kind.LOST);
        rig.nextOpened(8);
        rig.pass(1_000);
        assertThat(rig.transport.last().sent.get(0).getDropsList()).hasSize(1);
        assertThat(rig.transport.last().sent.get(0).getGapsCount()).isZero();
    }

    @Test
    void closingBringsOutWhatIsQueuedAndThenEndsTheStream() {
        FakeStream stream = rig.opened(8);
        rig.offerMany(13);
        rig.close();
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L, 2L);
        assertThat(stream.finished).isFalse();
        assertThat(stream.sent).extracting(Batch::getClosing).as("only the last is marked as such")
                .containsExactly(false, true);
        stream.sayAcknowledged(2);
        rig.pass(0);
        assertThat(stream.finished).isTrue();
        assertThat(rig.exporter.isDone()).isFalse();
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        assertThat(rig.exporter.isDone()).isTrue();
        assertThat(rig.losses.total()).isZero();
    }

    @Test
    void closingEndsInTimeWhateverTheCollectorDoesAndCountsWhatIsLeft() {
        FakeStream stream = rig.opened(8);
        rig.offerMany(13);
        rig.close();
        rig.pass(rig.options.closeTimeoutMs - 1);
        assertThat(rig.exporter.isDone()).isFalse();
        rig.pass(1);
        assertThat(rig.exporter.isDone()).isTrue();
        assertThat(stream.cancelled).isNotNull();
        assertThat(rig.losses.total(DropReason.DROP_REASON_CLOSED)).isEqualTo(13);
    }

    @Test
    void aConnectedCollectorReceivesTheEndWithNothingQueued() {
        FakeStream stream = rig.opened(8);
        rig.pass(0);
        stream.sayAcknowledged(1);
        rig.pass(0);
        rig.close();
        rig.pass(0);
        assertThat(stream.sequences()).containsExactly(1L, 2L);
        assertThat(stream.sent.get(1).getClosing()).isTrue();
        stream.sayAcknowledged(2);
        rig.pass(0);
        assertThat(stream.finished).isTrue();
    }

    @Test
    void aBatchStatesWhenTheNewestAcknowledgementCameAndWhatClocksWorkersHandedOver() {
        FakeStream stream = rig.opened(8);
        rig.pass(0);
        assertThat(stream.sent.get(0).hasClocks()).as("nothing was read yet").isFalse();
        stream.say(ExportResponse.newBuilder().setAcknowledgement(
                Acknowledgement.newBuilder().setEpoch(stream.epoch()).setSequence(1).setSentTimeMs(777)));
        long receivedMs = rig.time.wallMs();
        rig.workers.packReceived(rig.workers.worker("h", 6701), 55, 66);
        rig.offerMany(10);
        rig.pass(5);
        Batch batch = stream.sent.get(1);
        assertThat(batch.getClocks().getAcknowledgedTimeMs()).as("when it came, not when it was looked at")
                .isEqualTo(receivedMs);
        assertThat(batch.getClocks().getAcknowledgementSentTimeMs()).isEqualTo(777);
        assertThat(batch.getClocks().getWorkersList()).extracting(WorkerClock::getHost, WorkerClock::getPort,
                WorkerClock::getHandOverTimeMs, WorkerClock::getTakenTimeMs)
                .containsExactly(org.assertj.core.groups.Tuple.tuple("h", 6701, 55L, 66L));
        rig.offerMany(10);
        rig.pass(5);
        assertThat(stream.sent.get(2).getClocks().getWorkersList()).as("reported once").isEmpty();
    }

    @Test
    void closingWithNothingQueuedEndsAtOnce() {
        rig.exporter.step();
        rig.close();
        rig.pass(0);
        assertThat(rig.exporter.isDone()).isTrue();
    }

    @Test
    void aBatchStaysBelowWhatTheCollectorTakes() {
        Rig small = new Rig(10_000, 4_096);
        small.exporter.step();
        FakeStream stream = small.transport.last();
        stream.sayOpened(64, 4_000, false);
        for (int i = 0; i < 1_000; i++) {
            small.offer(i, i);
        }
        small.pass(0);
        assertThat(stream.sent).hasSizeGreaterThan(10)
                .allSatisfy(batch -> assertThat(batch.getSerializedSize()).isLessThan(4_000));
    }

    @Test
    void aCollectorThatAnswersMoreOftenThanItIsAskedIsLeft() {
        FakeStream stream = rig.opened(8);
        rig.offerMany(30);
        rig.pass(0);
        int asked = stream.sent.size();
        for (int answer = 0; answer < LiveStream.MAX_UNASKED_ANSWERS + asked - 1; answer++) {
            stream.sayAcknowledged(0);
            rig.pass(0);
        }
        assertThat(stream.cancelled).as("one answer each, and some").isNull();
        stream.sayAcknowledged(0);
        rig.pass(0);
        assertThat(stream.cancelled).contains("unsolicited");
        FakeStream next = rig.nextOpened(8);
        rig.pass(0);
        assertThat(next.sequences()).as("nothing is lost").isEqualTo(stream.sequences());
    }

    @Test
    void answersThatWaitTakeBoundedMemory() {
        FakeStream stream = rig.opened(8);
        rig.offerMany(10);
        rig.pass(0);
        String words = "x".repeat(600_000);
        ExportResponse.Builder wordy = ExportResponse.newBuilder()
                .setAcknowledgement(
                Acknowledgement.newBuilder().addRejections(Rejection.newBuilder().setExample(words)));
        stream.say(wordy);
        rig.pass(0);
        stream.say(wordy);
        rig.pass(0);
        assertThat(stream.cancelled).as("one at a time").isNull();
        stream.say(wordy);
        stream.say(wordy);
        rig.pass(0);
        assertThat(stream.cancelled).contains("answers too fast");
    }

    /**
     * The collector hears of it with the first batch that is cut after the outage, once, and again where that batch is
     * abandoned.
     */
    @Test
    void anOutageIsNotedAtTheCollector() {
        FakeStream stream = rig.opened(8);
        rig.pass(0);
        stream.sayAcknowledged(1);
        rig.pass(0);
        stream.end(StreamEnd.Kind.LOST);
        rig.pass(0);
        rig.time.nowMs += 42_000;
        stream = rig.nextOpened(8);
        rig.pass(0);
        assertThat(stream.sent.get(0).getAnnotationsList()).as("before an acknowledgement it has not ended").isEmpty();
        stream.sayAcknowledged(2);
        rig.offerMany(20);
        rig.pass(0);
        Annotation note = stream.sent.get(1).getAnnotations(0);
        assertThat(note.getText()).startsWith("a:1: test. ");
        assertThat(note.getTagsList()).containsExactly("plugin", "unreached");
        assertThat(note.getEndTimeMs() - note.getTimeMs()).isGreaterThanOrEqualTo(42_000);
        assertThat(note.getTitle()).startsWith("Metrics did not reach the collector");
        assertThat(stream.sent.get(2).getAnnotationsList()).isEmpty();
    }
}
