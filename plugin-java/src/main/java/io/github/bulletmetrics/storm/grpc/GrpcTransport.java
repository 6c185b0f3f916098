package io.github.bulletmetrics.storm.grpc;

import io.github.bulletmetrics.storm.proto.v1.ExportRequest;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.IngestServiceGrpc;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.send.Address;
import io.github.bulletmetrics.storm.send.StreamEnd;
import io.github.bulletmetrics.storm.send.Transport;
import io.grpc.CallOptions;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.TlsChannelCredentials;
import io.grpc.okhttp.OkHttpChannelBuilder;
import java.io.IOException;
import java.util.concurrent.TimeUnit;

/**
 * Opens streams over gRPC, each on its own connection. Certificates, the token and the collector's address are
 * therefore read again for each stream, so that replaced files take effect without a restart of the topology.
 *
 * <p>gRPC's own retries are not used: the sender alone decides when to try again, so that all attempts follow one
 * backoff.
 */
public final class GrpcTransport implements Transport {
    /** Answers are small; a larger one is no answer, bytes. */
    private static final int MAX_ANSWER_BYTES = 1 << 20;
    /**
     * A connection that is silent for so long is probed, s. Acknowledgements keep it from being so while there is
     * traffic.
     */
    private static final int KEEPALIVE_SECONDS = 60;
    /** How long the answer to a probe may take, s. */
    private static final int KEEPALIVE_TIMEOUT_SECONDS = 10;

    private final Security security;

    /** Reads no file yet. */
    public GrpcTransport(Security security) {
        this.security = security;
    }

    @Override
    public Stream open(Address to, Open open, Listener listener) {
        GrpcStream stream = new GrpcStream(listener);
        try {
            CallOptions options = callOptions();
            ReadAllowance allowance = new ReadAllowance(security.tls(), System::nanoTime);
            stream.begin(channel(to, allowance), allowance, options, open);
        } catch (IOException | RuntimeException failed) {
            stream.cancel("cannot open the stream");
            listener.ended(StreamEnd.lost(StreamEnd.NOT_OPENED + failed.getMessage()));
        }
        return stream;
    }

    private ManagedChannel channel(Address to, ReadAllowance allowance) throws IOException {
        // Events go to the sender's thread through a queue, so that no other thread is needed here.
        return OkHttpChannelBuilder.forAddress(to.host(), to.port(), credentials())
                .directExecutor()
                .disableRetry()
                .socketFactory(new MeteredSockets(allowance))
                .maxInboundMessageSize(MAX_ANSWER_BYTES)
                .keepAliveTime(KEEPALIVE_SECONDS, TimeUnit.SECONDS)
                .keepAliveTimeout(KEEPALIVE_TIMEOUT_SECONDS, TimeUnit.SECONDS)
                .build();
    }

    private ChannelCredentials credentials() throws IOException {
        if (!security.tls()) {
            return InsecureChannelCredentials.create();
        }
        TlsChannelCredentials.Builder tls = TlsChannelCredentials.newBuilder();
        if (security.authorities() != null) {
            tls.trustManager(security.authorities());
        }
        if (security.certificate() != null) {
            tls.keyManager(security.certificate(), security.key());
        }
        return tls.build();
    }

    private CallOptions callOptions() throws IOException {
        CallOptions options = CallOptions.DEFAULT;
        return security.token() == null ? options : options.withCallCredentials(BearerToken.read(security.token()));
    }

    /** The one method that is called. */
    static MethodDescriptor<ExportRequest, ExportResponse> method() {
        return IngestServiceGrpc.getExportMethod();
    }
}
