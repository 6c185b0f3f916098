package io.github.bulletmetrics.storm.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.Duration;
import com.google.rpc.RetryInfo;
import io.github.bulletmetrics.storm.collector.Certificates;
import io.github.bulletmetrics.storm.collector.GrpcCollector;
import io.github.bulletmetrics.storm.hostile.HostileCollector;
import io.github.bulletmetrics.storm.proto.v1.Batch;
import io.github.bulletmetrics.storm.proto.v1.ExportResponse;
import io.github.bulletmetrics.storm.proto.v1.Open;
import io.github.bulletmetrics.storm.proto.v1.Opened;
import io.github.bulletmetrics.storm.proto.v1.State;
import io.github.bulletmetrics.storm.send.Address;
import io.github.bulletmetrics.storm.send.StreamEnd;
import io.github.bulletmetrics.storm.send.Transport;
import io.grpc.InsecureServerCredentials;
import io.grpc.Status;
import io.grpc.TlsServerCredentials;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class GrpcTransportTest {
    private static final Open OPEN = Open.newBuilder().setTopology("bullet").build();
    private static final Batch BATCH = Batch.newBuilder()
            .setEpoch(ByteString.copyFrom(new byte[16])).setSequence(1)
            .setOldestHeldSequence(1).build();

    @TempDir
    Path directory;
    private final Heard heard = new Heard();
    private GrpcCollector collector;
    private Transport.Stream stream;

    @AfterEach
    void end() {
        if (stream != null) {
            stream.cancel("test over");
        }
        if (collector != null) {
            collector.close();
        }
    }

    @Test
    void bringsABatchAndHearsTheAcknowledgement() throws Exception {
        start();
        stream = open(Security.none());
        assertThat(heard.response().hasOpened()).isTrue();
        await().until(stream::isReady);
        stream.send(BATCH);
        assertThat(heard.response().getAcknowledgement().getSequence()).isEqualTo(1);
        stream.finish();
        heard.end();
        assertThat(collector.opens()).containsExactly(OPEN);
        assertThat(collector.ledger().batches()).isEqualTo(1);
        assertThat(collector.authorizations()).containsExactly("");
    }

    @Test
    void speaksTlsAndShowsItsCertificateAndToken() throws Exception {
        Certificates ofCollector = Certificates.make(directory, "collector");
        Certificates ofPlugin = Certificates.make(directory, "plugin");
        collector = new GrpcCollector(0, TlsServerCredentials.newBuilder().keyManager(ofCollector.certificate(),
                ofCollector.key())
                .trustManager(ofPlugin.certificate()).clientAuth(TlsServerCredentials.ClientAuth.REQUIRE).build());
        File token = Files.writeString(directory.resolve("token"), "s3cret\n").toFile();
        stream = open(new Security(true, ofCollector.certificate(), ofPlugin.certificate(), ofPlugin.key(), token));
        assertThat(heard.response().hasOpened()).isTrue();
        assertThat(collector.authorizations()).containsExactly("Bearer s3cret");
    }

    @Test
    void aCertificateThatItDoesNotTrustEndsTheStream() throws Exception {
        Certificates ofCollector = Certificates.make(directory, "collector");
        Certificates another = Certificates.make(directory, "another");
        collector = new GrpcCollector(0, TlsServerCredentials.create(ofCollector.certificate(), ofCollector.key()));
        stream = open(new Security(true, another.certificate(), null, null, null));
        StreamEnd end = heard.end();
        assertThat(end.kind()).isEqualTo(StreamEnd.Kind.LOST);
        assertThat(end.message()).contains("PKIX");
        assertThat(collector.opens()).isEmpty();
    }

    @Test
    void aFileThatIsMissingEndsTheStreamAndIsNamed() throws Exception {
        start();
        File missing = directory.resolve("missing").toFile();
        stream = open(new Security(false, null, null, null, missing));
        assertThat(heard.end().message()).startsWith(StreamEnd.NOT_OPENED).contains(missing.getPath());
        stream = open(new Security(true, missing, null, null, null));
        assertThat(heard.end().message()).contains(missing.getPath());
    }

    @Test
    void aTokenMayHaveAByteOrderMarkAndAnyLineEnds() throws Exception {
        start();
        String[] files = {"s3cret\n", "s3cret\r\n", "s3cret", "\ufeffs3cret\r\n", "\r\n  s3cret \r\n\r\n"};
        for (String text : files) {
            File token = Files.writeString(directory.resolve("token"), text).toFile();
            stream = open(new Security(false, null, null, null, token));
            assertThat(heard.response().hasOpened()).isTrue();
            stream.cancel("the test has seen it");
            heard.end();
        }
        assertThat(collector.authorizations()).hasSize(files.length).containsOnly("Bearer s3cret");
    }

    @Test
    void aTokenFileWithoutAUsableTokenIsNamedWithWhatIsWrongAndNotPrinted() throws Exception {
        start();
        assertTokenRefused("", " is empty; write the token into it");
        assertTokenRefused("\ufeff\r\n \n", " is empty; write the token into it");
        assertTokenRefused("s3cret\nother\n", ":2: unexpected second line; the file must contain only the token");
        assertTokenRefused("s3cret\r\n\r\nother", ":3: unexpected second line; the file must contain only the token");
        assertTokenRefused("s3cret\rother", ":2: unexpected second line; the file must contain only the token");
        assertTokenRefused("s3 cret", ": the token contains a space or a character that is not printable ASCII");
        assertTokenRefused("s3cr\u00e9t", ": the token contains a space or a character that is not printable ASCII");
        assertTokenRefused("s\u00003\u0000c\u0000", ": the token contains a space or a character that is not printable ASCII");
        assertTokenRefused("x".repeat(16_385), " has more than 16384 bytes");
        File folder = Files.createDirectory(directory.resolve("folder")).toFile();
        stream = open(new Security(false, null, null, null, folder));
        assertThat(heard.end().message()).contains(folder + " is a directory");
        assertThat(collector.authorizations()).isEmpty();
    }

    private void assertTokenRefused(String text, String wrong) throws Exception {
        File token = Files.writeString(directory.resolve("token"), text).toFile();
        stream = open(new Security(false, null, null, null, token));
        assertThat(heard.end().message()).startsWith(StreamEnd.NOT_OPENED).contains(token + wrong)
                .doesNotContain("s3cr");
    }

    @Test
    void theWayAStreamEndedIsUnderstood() throws Exception {
        start();
        assertEndsAs(StreamEnd.Kind.NOT_UNDERSTOOD, Status.INVALID_ARGUMENT.withDescription("batch.epoch"));
        assertEndsAs(StreamEnd.Kind.DENIED, Status.UNAUTHENTICATED);
        assertEndsAs(StreamEnd.Kind.DENIED, Status.PERMISSION_DENIED);
        assertThat(endAfter(Status.UNAVAILABLE.withDescription("closing"))).satisfies(end -> {
            assertThat(end.kind()).isEqualTo(StreamEnd.Kind.LOST);
            assertThat(end.message()).contains("UNAVAILABLE: closing");
        });
        assertThat(endAfter(Status.RESOURCE_EXHAUSTED)).satisfies(end -> {
            assertThat(end.kind()).isEqualTo(StreamEnd.Kind.BUSY);
            assertThat(end.retryAfterMs()).isZero();
        });
    }

    @Test
    void howLongABusyCollectorAsksToWaitIsUnderstood() throws Exception {
        start();
        collector.follow(new GrpcCollector.Script() {
            @Override
            public boolean open(Open open, StreamObserver<ExportResponse> answers) {
                RetryInfo retry = RetryInfo.newBuilder()
                        .setRetryDelay(Duration.newBuilder().setSeconds(2).setNanos(500_000_000)).build();
                answers.onError(StatusProto.toStatusRuntimeException(com.google.rpc.Status.newBuilder()
                        .setCode(Status.Code.RESOURCE_EXHAUSTED.value()).addDetails(Any.pack(retry)).build()));
                return false;
            }
        });
        stream = open(Security.none());
        assertThat(heard.end().retryAfterMs()).isEqualTo(2_500);
    }

    @Test
    void nobodyThereEndsTheStream() throws Exception {
        start();
        Address address = Address.parse(collector.address());
        collector.close();
        stream = new GrpcTransport(Security.none()).open(address, OPEN, heard);
        StreamEnd end = heard.end();
        assertThat(end.kind()).isEqualTo(StreamEnd.Kind.UNREACHABLE);
        assertThat(end.message()).contains("Connection refused");
    }

    /** Each end is one that OutageLog knows by its words. */
    @Test
    void somethingElseThereEndsTheStream() throws Exception {
        assertThat(answeredWith("HTTP/1.1 400 Bad Request\r\n\r\nGARBAGE".getBytes()))
                .contains("FRAME_SIZE_ERROR: 4740180");
        assertThat(answeredWith(new byte[] {0x15, 3, 3, 0, 2, 2, 70, 0, 0})).contains("FRAME_SIZE_ERROR: 13770");
        assertThat(answeredWith(new byte[0])).contains("End of stream or IOException");
    }

    @Test
    void plainTextInAnswerToTlsEndsTheStream() throws Exception {
        start();
        stream = open(new Security(true, Certificates.make(directory, "collector").certificate(), null, null, null));
        assertThat(heard.end().message()).contains("nrecognized SSL message");
    }

    /** How a stream ends at somebody who answers plain text with these bytes. */
    private String answeredWith(byte[] answer) throws Exception {
        try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread server = new Thread(() -> {
                try (Socket socket = other.accept(); OutputStream out = socket.getOutputStream()) {
                    socket.getInputStream().read();
                    out.write(answer);
                    out.flush();
                    socket.shutdownOutput();
                    socket.getInputStream().readAllBytes();
                } catch (java.io.IOException gone) {
                    // The client hung up.
                }
            });
            server.start();
            stream = new GrpcTransport(Security.none()).open(Address.parse("127.0.0.1:" + other.getLocalPort()), OPEN,
                    heard);
            StreamEnd end = heard.end();
            server.join(10_000);
            assertThat(end.kind()).isEqualTo(StreamEnd.Kind.LOST);
            return end.message();
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"PINGS", "SETTINGS"})
    void whoSendsMoreThanACollectorDoesIsLeft(HostileCollector.Kind kind) throws Exception {
        try (HostileCollector flood = HostileCollector.start(kind, 0, 0)) {
            stream = new GrpcTransport(Security.none()).open(Address.parse("127.0.0.1:" + flood.port()), OPEN, heard);
            StreamEnd end = heard.end();
            assertThat(end.kind()).isEqualTo(StreamEnd.Kind.LOST);
            assertThat(end.message()).contains("more data than a collector does");
        }
    }

    /** The largest there is, to a sender that reads slowly and sends nothing. */
    @Test
    void statesComeWholeAndWaitAtTheCollectorUntilTheyAreTaken() throws Exception {
        start();
        ByteString part = incompressible(256 << 10);
        collector.follow(new GrpcCollector.Script() {
            @Override
            public boolean open(Open open, StreamObserver<ExportResponse> answers) {
                answers.onNext(ExportResponse.newBuilder().setOpened(Opened.newBuilder().setGivesStates(true)).build());
                for (int number = 0; number < 64; number++) {
                    answers.onNext(ExportResponse.newBuilder().setState(State.newBuilder().setSequence(number)
                            .setData(part).setLast(number == 63)).build());
                }
                return false;
            }
        });
        stream = open(Security.none());
        for (int number = -1; number < 64; number++) {
            assertThat(heard.waiting()).isLessThanOrEqualTo(Transport.Stream.ANSWERS_AHEAD);
            ExportResponse response = heard.response();
            stream.requestAnswer();
            if (number >= 0) {
                assertThat(response.getState().getSequence()).isEqualTo(number);
                assertThat(response.getState().getData()).isEqualTo(part);
            }
        }
        assertThat(heard.ended()).isNull();
    }

    @Test
    void whoFloodsWithStatesIsLeft() throws Exception {
        start();
        collector.follow(new GrpcCollector.Script() {
            @Override
            public boolean open(Open open, StreamObserver<ExportResponse> answers) {
                answers.onNext(ExportResponse.newBuilder().setOpened(Opened.newBuilder().setGivesStates(true)).build());
                ByteString part = incompressible(256 << 10);
                for (int number = 0; number < 256; number++) {
                    answers.onNext(ExportResponse.newBuilder().setState(State.newBuilder().setData(part)).build());
                }
                return false;
            }
        });
        stream = open(Security.none());
        StreamEnd end = null;
        for (int taken = 0; end == null && taken < 256; end = heard.ended()) {
            if (heard.poll() != null) {
                taken++;
                stream.requestAnswer();
            }
        }
        assertThat(heard.end().message()).contains("more data than a collector does");
    }

    private static ByteString incompressible(int bytes) {
        byte[] random = new byte[bytes];
        new Random(1).nextBytes(random);
        return ByteString.copyFrom(random);
    }

    @Test
    void aStateTravelsBeforeTheFirstBatch() throws Exception {
        start();
        BlockingQueue<Object> came = new LinkedBlockingQueue<>();
        collector.follow(new GrpcCollector.Script() {
            @Override
            public void state(State part, StreamObserver<ExportResponse> answers) {
                came.add(part);
            }

            @Override
            public boolean take(Batch batch, StreamObserver<ExportResponse> answers) {
                return came.add(batch);
            }
        });
        stream = open(Security.none());
        heard.response();
        State part = State.newBuilder().setEpoch(BATCH.getEpoch()).setSequence(7).setData(incompressible(256 << 10))
                .setLast(true).build();
        await().until(stream::isReady);
        stream.send(part);
        stream.send(BATCH);
        assertThat(heard.response().hasAcknowledgement()).isTrue();
        assertThat(came).containsExactly(part, BATCH);
    }

    @Test
    void aStreamThatWasCancelledLeavesNoConnection() throws Exception {
        start();
        stream = open(Security.none());
        heard.response();
        stream.cancel("enough");
        heard.end();
        stream.send(BATCH);
        stream.send(State.getDefaultInstance());
        stream.requestAnswer();
        stream.finish();
        stream.cancel("again");
        assertThat(stream.isReady()).isFalse();
        assertThat(collector.ledger().batches()).isZero();
    }

    private void start() throws Exception {
        collector = new GrpcCollector(0, InsecureServerCredentials.create());
    }

    private Transport.Stream open(Security security) {
        return new GrpcTransport(security).open(Address.parse(collector.address()), OPEN, heard);
    }

    private void assertEndsAs(StreamEnd.Kind kind, Status status) throws Exception {
        StreamEnd end = endAfter(status);
        assertThat(end.kind()).as("%s: %s", status, end.message()).isEqualTo(kind);
    }

    private StreamEnd endAfter(Status status) throws Exception {
        collector.follow(new GrpcCollector.Script() {
            @Override
            public boolean open(Open open, StreamObserver<ExportResponse> answers) {
                answers.onError(status.asRuntimeException());
                return false;
            }
        });
        stream = open(Security.none());
        return heard.end();
    }

    /** Keeps what it hears until the test asks. */
    private static final class Heard implements Transport.Listener {
        private final BlockingQueue<ExportResponse> responses = new LinkedBlockingQueue<>();
        private final BlockingQueue<StreamEnd> ends = new LinkedBlockingQueue<>();

        @Override
        public void received(ExportResponse response) {
            responses.add(response);
        }

        @Override
        public void writable() {
            // isReady is asked.
        }

        @Override
        public void ended(StreamEnd end) {
            ends.add(end);
        }

        ExportResponse response() throws InterruptedException {
            ExportResponse response = responses.poll(20, TimeUnit.SECONDS);
            assertThat(response).as("an answer; ended: %s", ends.peek() == null ? "no" : ends.peek().message())
                    .isNotNull();
            return response;
        }

        ExportResponse poll() throws InterruptedException {
            return responses.poll(1, TimeUnit.MILLISECONDS);
        }

        int waiting() {
            return responses.size();
        }

        /** Null while it has not. */
        StreamEnd ended() {
            return ends.peek();
        }

        StreamEnd end() throws InterruptedException {
            StreamEnd end = ends.poll(20, TimeUnit.SECONDS);
            assertThat(end).as("the end of the stream").isNotNull();
            return end;
        }
    }
}
