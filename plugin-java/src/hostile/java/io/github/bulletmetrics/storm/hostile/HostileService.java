package io.github.bulletmetrics.storm.hostile;

import com.google.protobuf.ByteString;
import io.github.bulletmetrics.storm.proto.v1.Acknowledgement;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.ExportRequest;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Full;
import io.github.bulletmetrics.storm.proto.v1.IngestServiceGrpc;
import io.github.bulletmetrics.storm.proto.v1.Opened;
import io.github.bulletmetrics.storm.proto.v1.Rejection;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.okhttp.OkHttpServerBuilder;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Those that open streams. */
final class HostileService extends IngestServiceGrpc.IngestServiceImplBase implements HostileCollector {
    /** Four times what the plugin takes. */
    private static final int HUGE_TEXT_CHARS = 4 << 20;
    /** Nearly all of what it takes. */
    private static final int LARGE_TEXT_CHARS = 1_000_000;
    private static final int LARGE_ANSWERS = 60;

    private final Kind kind;
    private final Server server;
    /** The server no longer reports when it has ended. */
    private final int port;
    private final AtomicLong met = new AtomicLong();

    HostileService(Kind kind, int port) throws IOException {
        this.kind = kind;
        server = OkHttpServerBuilder.forPort(new InetSocketAddress("127.0.0.1", port),
                InsecureServerCredentials.create()).addService(this).build().start();
        this.port = server.getPort();
    }

    @Override
    public StreamObserver<ExportRequest> export(StreamObserver<ExportResponse> answers) {
        ServerCallStreamObserver<ExportResponse> client = (ServerCallStreamObserver<ExportResponse>) answers;
        client.setOnCancelHandler(() -> { });
        return new StreamObserver<ExportRequest>() {
            @Override
            public void onNext(ExportRequest request) {
                if (request.hasOpen()) {
                    answers.onNext(ExportResponse.newBuilder().setOpened(
                            Opened.newBuilder().setWindow(64).setMaxBatchBytes(1 << 20)).build());
                } else {
                    met.incrementAndGet();
                    answer(request.getBatch(), client);
                }
            }

            @Override
            public void onError(Throwable broken) {
                // The plugin went away, as it may.
            }

            @Override
            public void onCompleted() {
                answers.onCompleted();
            }
        };
    }

    private void answer(Batch batch, ServerCallStreamObserver<ExportResponse> client) {
        switch (kind) {
            case FULL:
                client.onNext(ExportResponse.newBuilder()
                        .setFull(Full.newBuilder().setEpoch(batch.getEpoch()).setSequence(batch.getSequence()))
                        .build());
                return;
            case HUGE:
                client.onNext(wordy(batch, HUGE_TEXT_CHARS));
                return;
            case LARGE:
                ExportResponse large = wordy(batch, LARGE_TEXT_CHARS);
                for (int i = 0; i < LARGE_ANSWERS; i++) {
                    client.onNext(large);
                }
                return;
            case FLOOD:
                ExportResponse unasked = ExportResponse.newBuilder()
                        .setAcknowledgement(acknowledgement(ByteString.copyFromUtf8("somebody else's."), 1)).build();
                while (!client.isCancelled()) {
                    if (client.isReady()) {
                        client.onNext(unasked);
                    } else {
                        Thread.yield();
                    }
                }
                return;
            default:
                client.onError(Status.UNAVAILABLE.withDescription("hostile").asRuntimeException());
        }
    }

    /** Acknowledges nothing, at length. */
    private static ExportResponse wordy(Batch batch, int chars) {
        String text = new String(new char[chars]).replace('\0', 'x');
        return ExportResponse.newBuilder()
                .setAcknowledgement(acknowledgement(batch.getEpoch(),
                0).addRejections(Rejection.newBuilder().setExample(text))).build();
    }

    private static Acknowledgement.Builder acknowledgement(ByteString epoch, long sequence) {
        return Acknowledgement.newBuilder().setEpoch(epoch).setSequence(sequence);
    }

    @Override
    public int port() {
        return port;
    }

    @Override
    public long met() {
        return met.get();
    }

    @Override
    public void close() {
        server.shutdownNow();
        try {
            server.awaitTermination(10, TimeUnit.SECONDS);
        } catch (InterruptedException hurried) {
            Thread.currentThread().interrupt();
        }
    }
}
