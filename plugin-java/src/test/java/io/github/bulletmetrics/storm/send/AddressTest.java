package io.github.bulletmetrics.storm.send;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AddressTest {
    @ParameterizedTest
    @CsvSource({"collector.example:9, collector.example, 9, collector.example:9",
            "' collector ', collector, 4320, collector:4320",
        "127.0.0.1:4320, 127.0.0.1, 4320, 127.0.0.1:4320", "[::1]:7, ::1, 7, [::1]:7", "[::1], ::1, 4320, [::1]:4320",
        "fe80::2, fe80::2, 4320, [fe80::2]:4320"})
    void isReadAndWritten(String text, String host, int port, String written) {
        Address address = Address.parse(text);
        assertThat(address.host()).isEqualTo(host);
        assertThat(address.port()).isEqualTo(port);
        assertThat(address).hasToString(written);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", ":4320", "host:", "host:0", "host:65536", "host:port", "http://host:1", "a b:1",
            "[::1", "a:1;b:2", "a,b", "4320", "null", "{a=1}", "user@host:1", "\u0000:1"})
    void anythingElseIsRefused(String text) {
        assertThatThrownBy(() -> Address.parse(text)).isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("'" + text + "'");
    }
}
