package io.github.bulletmetrics.storm.collector;

import io.github.bulletmetrics.storm.proto.v1.Acknowledgement;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.ExportRequest;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Full;
import io.github.bulletmetrics.storm.proto.v1.IngestServiceGrpc;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.Opened;
import io.github.bulletmetrics.storm.proto.v1.State;
import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.okhttp.OkHttpServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** A real gRPC server that takes batches into a {@link Ledger}, unless a script has something else in mind. */
public final class GrpcCollector implements AutoCloseable {
    private static final Context.Key<String> AUTHORIZATION = Context.key("authorization");

    private final Ledger ledger = new Ledger();
    private final List<Open> opens = new CopyOnWriteArrayList<>();
    private final List<String> authorizations = new CopyOnWriteArrayList<>();
    private final Server server;
    private volatile Script script = new Script() { };
    private volatile boolean takesBlocks = true;

    /** What the collector does instead of taking everything. Each method may answer by itself and return false. */
    public interface Script {
        /** Whether to open the stream. */
        default boolean open(Open open, StreamObserver<ExportResponse> answers) {
            return true;
        }

        /** A part of a state came. */
        default void state(State part, StreamObserver<ExportResponse> answers) {
            throw new AssertionError("a state that was not asked for: " + part.getSequence());
        }

        /** Whether to take the batch and acknowledge it. */
        default boolean take(Batch batch, StreamObserver<ExportResponse> answers) {
            return true;
        }
    }

    /**
     * Starts it on a port of 127.0.0.1.
     *
     * @param port 0 for any.
     */
    public GrpcCollector(int port, ServerCredentials credentials) throws IOException {
        server = OkHttpServerBuilder.forPort(new java.net.InetSocketAddress("127.0.0.1", port), credentials)
                .addService(io.grpc.ServerInterceptors.intercept(new Service(), new ReadAuthorization()))
                .permitKeepAliveTime(1, TimeUnit.SECONDS)
                .build()
                .start();
    }

    public int port() {
        return server.getPort();
    }

    public String address() {
        return "127.0.0.1:" + port();
    }

    public Ledger ledger() {
        return ledger;
    }

    /** The first message of every stream. */
    public List<Open> opens() {
        return opens;
    }

    /** What the streams had as "authorization"; "" for none. */
    public List<String> authorizations() {
        return authorizations;
    }

    public void follow(Script newScript) {
        script = newScript;
    }

    /** Whether it takes blocks on streams that begin from now on; unless said otherwise it does. */
    public void takesBlocks(boolean takes) {
        takesBlocks = takes;
    }

    private ExportResponse opened() {
        return ExportResponse.newBuilder()
                .setOpened(Opened.newBuilder().setWindow(16).setMaxBatchBytes(1 << 20).setTakesBlocks(takesBlocks))
                .build();
    }

    public static ExportResponse acknowledgement(Batch of) {
        return ExportResponse.newBuilder()
                .setAcknowledgement(Acknowledgement.newBuilder().setEpoch(of.getEpoch()).setSequence(of.getSequence()))
                .build();
    }

    public static ExportResponse full(Batch of, int retryAfterMs) {
        return ExportResponse.newBuilder()
                .setFull(Full.newBuilder().setEpoch(of.getEpoch()).setSequence(of.getSequence()).setRetryAfterMs(
                retryAfterMs)).build();
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

    private final class Service extends IngestServiceGrpc.IngestServiceImplBase {
        @Override
        public StreamObserver<ExportRequest> export(StreamObserver<ExportResponse> answers) {
            authorizations.add(AUTHORIZATION.get() == null ? "" : AUTHORIZATION.get());
            return new Requests(answers);
        }
    }

    private final class Requests implements StreamObserver<ExportRequest> {
        private final Ledger.StreamIds ids = ledger.newStream(takesBlocks);
        private final StreamObserver<ExportResponse> answers;

        Requests(StreamObserver<ExportResponse> answers) {
            this.answers = answers;
        }

        @Override
        public void onNext(ExportRequest request) {
            if (request.hasOpen()) {
                opens.add(request.getOpen());
                if (script.open(request.getOpen(), answers)) {
                    answers.onNext(opened());
                }
            } else if (request.hasState()) {
                script.state(request.getState(), answers);
            } else if (script.take(request.getBatch(), answers)) {
                ledger.take(ids, request.getBatch());
                answers.onNext(acknowledgement(request.getBatch()));
            }
        }

        @Override
        public void onError(Throwable broken) {
            // The sender went away, as it may.
        }

        @Override
        public void onCompleted() {
            answers.onCompleted();
        }
    }

    private static final class ReadAuthorization implements ServerInterceptor {
        @Override
        public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers,
        ServerCallHandler<Q, A> next) {
            String said = headers.get(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER));
            return Contexts.interceptCall(Context.current().withValue(AUTHORIZATION, said), call, headers, next);
        }
    }
}
