package io.github.bulletmetrics.storm.send;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import io.github.bulletmetrics.storm.proto.v1.Acknowledgement;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Full;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.Opened;
import java.util.ArrayList;
import java.util.List;

/** A network without threads: keeps what is sent until the test, as the collector, answers. */
final class FakeTransport implements Transport {
    final List<FakeStream> streams = new ArrayList<>();
    final List<String> addresses = new ArrayList<>();

    @Override
    public FakeStream open(Address to, Open open, Listener listener) {
        FakeStream stream = new FakeStream(listener);
        streams.add(stream);
        addresses.add(to.toString());
        return stream;
    }

    FakeStream last() {
        return streams.get(streams.size() - 1);
    }

    static final class FakeStream implements Stream {
        final List<Batch> sent = new ArrayList<>();
        /** The same, as they travel. */
        final List<ByteString> encoded = new ArrayList<>();
        boolean ready = true;
        boolean finished;
        String cancelled;
        private final Listener listener;

        FakeStream(Listener listener) {
            this.listener = listener;
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
            listener.received(response.build());
        }

        void sayOpened(int window) {
            sayOpened(window, 1 << 20, false);
        }

        void sayOpened(int window, int maxBatchBytes, boolean takesBlocks) {
            say(ExportResponse.newBuilder().setOpened(Opened.newBuilder().setWindow(window).setMaxBatchBytes(
                    maxBatchBytes).setTakesBlocks(takesBlocks)));
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
            return sent.isEmpty() ? ByteString.EMPTY : sent.get(0).getEpoch();
        }
    }
}
