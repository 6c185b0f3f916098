package io.github.bulletmetrics.storm.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class ReadAllowanceTest {
    private long nowNs = -7;

    private ReadAllowance allowance(boolean tls) {
        return new ReadAllowance(tls, () -> nowNs);
    }

    private static void assertLeft(ReadAllowance allowance, long bytes) throws IOException {
        allowance.read((int) bytes);
        assertThatThrownBy(() -> allowance.read(1)).isInstanceOf(IOException.class)
                .hasMessageContaining("more than a collector does");
    }

    @Test
    void thereIsSomeToBeginWithAndMoreForTls() throws IOException {
        assertLeft(allowance(false), ReadAllowance.START_BYTES);
        assertLeft(allowance(true), ReadAllowance.START_BYTES + ReadAllowance.TLS_BYTES);
    }

    @Test
    void eachMessageAndEachSecondAllowMore() throws IOException {
        ReadAllowance allowance = allowance(false);
        allowance.sent();
        allowance.sent();
        for (int half = 0; half < 5; half++) {
            nowNs += TimeUnit.MILLISECONDS.toNanos(500);
            allowance.read(0);
        }
        assertLeft(allowance,
                ReadAllowance.START_BYTES + 2 * ReadAllowance.MESSAGE_BYTES + 2 * ReadAllowance.SECOND_BYTES);
    }

    @Test
    void whatIsNotUsedIsNotKeptForEver() throws IOException {
        ReadAllowance allowance = allowance(true);
        nowNs += TimeUnit.DAYS.toNanos(30);
        for (int message = 0; message < 1_000; message++) {
            allowance.sent();
        }
        assertLeft(allowance, ReadAllowance.MAX_BYTES);
    }
}
