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
            lines += log.well(address, second * 1_000 + 500) ? 1 : 0;
        }
        assertThat(lines).isEqualTo(12);
    }

    @Test
    void anotherKindOfFailureIsSaidAtOnce() {
        assertThat(log.failed(address, StreamEnd.lost("gone"), 0, 0)).isTrue();
        assertThat(log.failed(address, StreamEnd.lost("gone"), 0, 1_000)).isFalse();
        assertThat(log.failed(address, new StreamEnd(StreamEnd.Kind.DENIED, "no token", 0), 0, 2_000)).isTrue();
        assertThat(log.well(address, 3_000)).isTrue();
        assertThat(log.well(address, 4_000)).isFalse();
    }

    /** Netty's words for each: what TLS makes of plain text, and what HTTP/2 makes of TLS' alert and of an answer of HTTP/1. */
    @Test
    void whatTheFirstBytesGiveAwayIsNamed() {
        log.failed(address, StreamEnd.lost("UNAVAILABLE: io exception (io.netty.handler.ssl.NotSslRecordException: not an SSL/TLS record: 0000)"), 0, 0);
        assertThat(log.last()).startsWith("a:1: UNAVAILABLE").contains("speaks plain text").contains("tls.enabled is true");
        log.failed(address, StreamEnd.lost("UNAVAILABLE (Http2Exception: First received frame was not SETTINGS. Hex dump for first 5 bytes: 1503010002)"), 0, 0);
        assertThat(log.last()).contains("speaks TLS: set");
        log.failed(address, StreamEnd.lost("UNAVAILABLE (Http2Exception: First received frame was not SETTINGS. Hex dump for first 5 bytes: 485454502f)"), 0, 0);
        assertThat(log.last()).contains("4320 by default");
        log.failed(address, new StreamEnd(StreamEnd.Kind.DENIED, "no token", 0), 0, 0);
        assertThat(log.last()).contains("token.file");
    }
}
