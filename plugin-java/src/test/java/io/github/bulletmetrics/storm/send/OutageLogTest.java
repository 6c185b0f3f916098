package io.github.bulletmetrics.storm.send;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class OutageLogTest {
    private final OutageLog log = new OutageLog(600_000);
    private final Address address = Address.parse("a:1");

    @Test
    void aFlappingCollectorDoesNotFloodTheLog() {
        int lines = 0;
        for (int second = 0; second < 3_600; second++) {
            lines += log.failed(address, StreamEnd.lost("gone"), 0, second * 1_000) ? 1 : 0;
            lines += log.recovered(address, second * 1_000 + 500) ? 1 : 0;
        }
        assertThat(lines).isEqualTo(12);
    }

    @Test
    void anotherKindOfFailureIsSaidAtOnce() {
        assertThat(log.failed(address, StreamEnd.lost("gone"), 0, 0)).isTrue();
        assertThat(log.failed(address, StreamEnd.lost("gone"), 0, 1_000)).isFalse();
        assertThat(log.failed(address, new StreamEnd(StreamEnd.Kind.DENIED, "no token", 0), 0, 2_000)).isTrue();
        assertThat(log.recovered(address, 3_000)).isTrue();
        assertThat(log.recovered(address, 4_000)).isFalse();
    }

    /** The ends are those that GrpcTransportTest brings about. */
    @Test
    void whatTheConnectionGivesAwayIsNamed() {
        log.failed(address, StreamEnd.lost(
                "UNAVAILABLE (javax.net.ssl.SSLException: Unsupported or unrecognized SSL message)"), 0, 0);
        assertThat(log.last()).startsWith("a:1: UNAVAILABLE").contains("does not use TLS")
                .contains("tls.enabled is true");
        log.failed(address, StreamEnd.lost(
                "INTERNAL: error in frame handler (java.io.IOException: FRAME_SIZE_ERROR: 1377027)"), 0, 0);
        assertThat(log.last()).contains("requires TLS. Set");
        log.failed(address, StreamEnd.lost(
                "INTERNAL: error in frame handler (java.io.IOException: FRAME_SIZE_ERROR: 4740180)"), 0, 0);
        assertThat(log.last()).contains("4320 by default");
        log.failed(address, StreamEnd.lost("UNAVAILABLE: End of stream or IOException"), 0, 0);
        assertThat(log.last()).contains("has ended, or it requires TLS");
        log.failed(address, StreamEnd.lost(StreamEnd.NOT_OPENED + "/etc/token"), 0, 0);
        assertThat(log.last()).contains("Fix the file");
        log.failed(address, new StreamEnd(StreamEnd.Kind.DENIED, "no token", 0), 0, 0);
        assertThat(log.last()).contains("token.file");
    }
}
