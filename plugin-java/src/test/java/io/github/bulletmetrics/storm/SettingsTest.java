package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.bulletmetrics.storm.send.Spread;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SettingsTest {
    @Test
    void withoutAnySettingTheCollectorIsOnThisMachine() {
        Settings settings = Settings.from(name -> null);
        assertThat(settings.addresses()).hasToString("[127.0.0.1:4320]");
        assertThat(settings.security().tls()).isFalse();
        assertThat(settings.queueCapacity()).isEqualTo(500_000);
        assertThat(settings.seriesLimit()).isEqualTo(100_000);
        assertThat(settings.isSamplerEnabled()).isTrue();
        assertThat(settings.asMap()).isEmpty();
    }

    @Test
    void addressesAreAListOrATextWithCommas() {
        assertThat(Settings.from(Map.<String, Object>of(Settings.ADDRESS, List.of("a:1", "b"))::get).addresses())
                .hasToString("[a:1, b:4320]");
        assertThat(Settings.from(Map.<String, Object>of(Settings.ADDRESS, "a:1, b")::get).addresses())
                .hasToString("[a:1, b:4320]");
    }

    @Test
    void whichOfSeveralAddressesIsFirstIsThePolicys() {
        List<String> six = List.of("a:1", "b:1", "c:1", "d:1", "e:1", "f:1");
        Map<String, Object> listed = Map.of(Settings.ADDRESS, six);
        assertThat(Settings.from(listed::get).addresses("bullet")).hasToString(six.toString());
        Map<String, Object> first = Map.of(Settings.ADDRESS, six, Settings.POLICY, "first");
        assertThat(Settings.from(first::get).addresses("bullet")).hasToString(six.toString());
        Settings spread = Settings.from(Map.<String, Object>of(Settings.ADDRESS, six, Settings.POLICY, "spread")::get);
        assertThat(spread.addresses("bullet").toString()).isNotEqualTo(six.toString())
                .isEqualTo(Spread.order("bullet", spread.addresses()).toString());
    }

    @Test
    void addressesInAListMayHaveCommas() {
        assertThat(Settings.from(Map.<String, Object>of(Settings.ADDRESS, List.of("a:1,b:2", "c"))::get).addresses())
                .hasToString("[a:1, b:2, c:4320]");
    }

    @Test
    void aValueOfAnotherTypeIsRefused() {
        for (Object address : Arrays.asList(Collections.singletonList(null), List.of(List.of("a:1")), 4320, true,
                Map.of("a", 1), List.of("a:1;b:2"), "a:1;b:2", "4320", "a:1,", List.of(), List.of(1.5))) {
            refuses(Settings.ADDRESS, address);
        }
        for (String name : List.of(Settings.QUEUE_CAPACITY, Settings.SERIES_LIMIT, Settings.PARALLELISM,
                Settings.RETAIN_TUPLES)) {
            for (Object number : List.of(2_000.5, Double.NaN, List.of(2_000), true, Map.of(), "2 000", "1e400",
                    "99999999999999999999", -1, "")) {
                refuses(name, number);
            }
        }
        for (String name : List.of(Settings.TLS_ENABLED, Settings.SAMPLER_ENABLED, Settings.LATENCY_ENABLED)) {
            for (Object flag : List.of(1, List.of(true), "", "on", Map.of())) {
                refuses(name, flag);
            }
        }
        for (String name : List.of(Settings.TLS_CA_FILE, Settings.TLS_CERT_FILE, Settings.TLS_KEY_FILE,
                Settings.TOKEN_FILE)) {
            for (Object file : List.of(1, List.of("f"), true, Map.of())) {
                refuses(name, file);
            }
        }
        for (Object policy : List.of(1, List.of("first"), "", Map.of())) {
            refuses(Settings.POLICY, policy);
        }
        assertThat(Settings.from(Map.<String, Object>of(Settings.QUEUE_CAPACITY, 2_000.0)::get).queueCapacity())
                .isEqualTo(2_000);
    }

    private static void refuses(String name, Object value) {
        assertThatThrownBy(() -> Settings.from(Map.of(name, value)::get)).as("%s: %s", name, value)
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining(Settings.PREFIX);
    }

    @Test
    void valuesMayBeTexts() {
        Settings settings = Settings.from(Map.<String, Object>of(Settings.TLS_ENABLED, "TRUE", Settings.QUEUE_CAPACITY,
                " 2000 ")::get);
        assertThat(settings.security().tls()).isTrue();
        assertThat(settings.queueCapacity()).isEqualTo(2_000);
    }

    @ParameterizedTest
    @CsvSource({"address, http://x, not an address", "queue.capacity, many, an integer from 1000",
            "queue.capacity, 10, an integer from 1000",
        "policy, random, use first", "policy, random, or spread", "tls.enabled, yes, use true or false", "tls.cert.file, /x, set both or neither",
        "tls.ca.file, /x, set tls.enabled", "address, '', not an address"})
    void aWrongValueIsNamedWithWhatIsRight(String name, String value, String message) {
        assertThatThrownBy(() -> Settings.from(Map.<String, Object>of(Settings.PREFIX + name, value)::get))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining(Settings.PREFIX)
                .hasMessageContaining(message);
    }
}
