package io.github.bulletmetrics.storm.send;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.github.bulletmetrics.storm.proto.v1.Acknowledgement;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Full;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.Opened;
import io.github.bulletmetrics.storm.proto.v1.State;
import java.util.ArrayList;
import java.util.List;

/** A network without threads: keeps what is sent until the test, as the collector, answers. */
final class FakeTransport implements Transport {
    final List<FakeStream> streams = new ArrayList<>();
    final List<String> addresses = new ArrayList<>();
    final List<Open> opens = new ArrayList<>();

    @Override
    public FakeStream open(Address to, Open open, Listener listener) {
        FakeStream stream = new FakeStream(listener, open.getEpoch());
        streams.add(stream);
        addresses.add(to.toString());
        opens.add(open);
        return stream;
    }

    FakeStream last() {
        return streams.get(streams.size() - 1);
    }

    static final class FakeStream implements Stream {
        final List<Batch> sent = new ArrayList<>();
        /** The same, as they travel. */
        final List<ByteString> encoded = new ArrayList<>();
        /** Parts of a state, each with how many batches were sent before it. */
        final List<State> states = new ArrayList<>();
        final List<Integer> batchesBefore = new ArrayList<>();
        /** Answers that may be said without waiting at the collector. */
        int credit = ANSWERS_AHEAD;
        boolean ready = true;
        boolean finished;
        String cancelled;
        private final Listener listener;
        private final ByteString epoch;

        FakeStream(Listener listener, ByteString epoch) {
            this.listener = listener;
            this.epoch = epoch;
        }

        @Override
        public boolean isReady() {
            return ready;
        }

        /** What arrives is read from bytes, as the collector reads it. */
        @Override
        public void send(Batch batch) {
            encoded.add(batch.toByteString());
            try {
                sent.add(Batch.parseFrom(encoded.get(encoded.size() - 1)));
            } catch (InvalidProtocolBufferException e) {
                throw new AssertionError("a batch that cannot be read: " + batch, e);
            }
        }

        @Override
        public void send(State part) {
            states.add(part);
            batchesBefore.add(sent.size());
        }

        @Override
        public void requestAnswer() {
            credit++;
        }

        @Override
        public void finish() {
            finished = true;
        }

        @Override
        public void cancel(String why) {
            cancelled = why;
        }

        List<Long> sequences() {
            return sent.stream().map(Batch::getSequence).toList();
        }

        void say(ExportResponse.Builder response) {
            credit--;
            listener.received(response.build());
        }

        void sayOpened(int window) {
            sayOpened(window, 1 << 20, false);
        }

        void sayOpened(int window, int maxBatchBytes, boolean takesBlocks) {
            say(ExportResponse.newBuilder().setOpened(Opened.newBuilder().setWindow(window).setMaxBatchBytes(
                    maxBatchBytes).setTakesBlocks(takesBlocks)));
        }

        /** Opens as a collector that gives states. */
        void sayOpenedGivingStates(int window, boolean wantsState, long takenSequence) {
            say(ExportResponse.newBuilder().setOpened(Opened.newBuilder().setWindow(window).setMaxBatchBytes(1 << 20)
                    .setGivesStates(true).setWantsState(wantsState).setTakenSequence(takenSequence)));
        }

        /** A state in parts, of which there may be none. */
        void sayState(long sequence, String... parts) {
            for (int part = 0; part < parts.length; part++) {
                sayPart(sequence, ByteString.copyFromUtf8(parts[part]), part == parts.length - 1);
            }
            if (parts.length == 0) {
                sayPart(sequence, ByteString.EMPTY, true);
            }
        }

        void sayPart(long sequence, ByteString data, boolean last) {
            say(ExportResponse.newBuilder().setState(
                    State.newBuilder().setEpoch(epoch()).setSequence(sequence).setData(data).setLast(last)));
        }

        void sayAcknowledged(long sequence) {
            say(ExportResponse.newBuilder().setAcknowledgement(
                    Acknowledgement.newBuilder().setEpoch(epoch()).setSequence(sequence)));
        }

        void sayFull(long sequence, int retryAfterMs) {
            say(ExportResponse.newBuilder().setFull(Full.newBuilder().setEpoch(epoch()).setSequence(
                    sequence).setRetryAfterMs(retryAfterMs)));
        }

        void end(StreamEnd.Kind kind) {
            listener.ended(new StreamEnd(kind, "test", 0));
        }

        ByteString epoch() {
            return epoch;
        }
    }
}
