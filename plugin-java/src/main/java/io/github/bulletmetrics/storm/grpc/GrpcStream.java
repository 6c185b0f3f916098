package io.github.bulletmetrics.storm.grpc;

import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.ExportRequest;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.State;
import io.github.bulletmetrics.storm.send.StreamEnd;
import io.github.bulletmetrics.storm.send.Transport;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;

/** One call. It owns its channel, and shuts it down when the call ends. */
final class GrpcStream implements Transport.Stream {
    private final Transport.Listener listener;
    private ManagedChannel channel;
    private ReadAllowance allowance;
    private ClientCall<ExportRequest, ExportResponse> call;
    private volatile boolean over;

    GrpcStream(Transport.Listener listener) {
        this.listener = listener;
    }

    /** Takes over the channel and sends the first message. */
    void begin(ManagedChannel on, ReadAllowance ofIt, CallOptions options, Open open) {
        channel = on;
        allowance = ofIt;
        call = channel.newCall(GrpcTransport.method(), options);
        call.start(new Answers(), new Metadata());
        call.request(ANSWERS_AHEAD);
        allowance.sent();
        call.sendMessage(ExportRequest.newBuilder().setOpen(open).build());
    }

    @Override
    public boolean isReady() {
        return !over && call.isReady();
    }

    @Override
    public void send(Batch batch) {
        if (!over) {
            allowance.sent();
            call.sendMessage(ExportRequest.newBuilder().setBatch(batch).build());
        }
    }

    @Override
    public void send(State part) {
        if (!over) {
            allowance.sent();
            call.sendMessage(ExportRequest.newBuilder().setState(part).build());
        }
    }

    @Override
    public void requestAnswer() {
        if (!over) {
            call.request(1);
        }
    }

    @Override
    public void finish() {
        if (!over) {
            call.halfClose();
        }
    }

    @Override
    public void cancel(String why) {
        over = true;
        if (call != null) {
            call.cancel(why, null);
        }
        if (channel != null) {
            channel.shutdownNow();
        }
    }

    /** Called on the transport's threads. */
    private final class Answers extends ClientCall.Listener<ExportResponse> {
        @Override
        public void onMessage(ExportResponse response) {
            if (response.getOpened().getGivesStates()) {
                allowance.givesStates();
            } else if (response.hasState()) {
                allowance.stateReceived(response.getSerializedSize());
            }
            listener.received(response);
        }

        @Override
        public void onReady() {
            listener.writable();
        }

        @Override
        public void onClose(Status status, Metadata trailers) {
            over = true;
            channel.shutdown();
            listener.ended(allowance.exceeded() ? StreamEnd.lost(ReadAllowance.EXCEEDED)
                    : StatusReader.read(status, trailers));
        }
    }
}
