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
                .hasMessageContaining("more data than a collector does");
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

    @Test
    void statesHaveAnAllowanceOfTheirOwn() throws IOException {
        ReadAllowance allowance = allowance(false);
        allowance.givesStates();
        allowance.givesStates();
        int part = 256 << 10;
        for (int parts = 0; parts < 64; parts++) {
            allowance.read(part);
            allowance.stateReceived(part);
        }
        assertLeft(allowance, ReadAllowance.START_BYTES + ReadAllowance.STATE_PART_BYTES);
    }

    @Test
    void moreStatesThanACollectorGivesAreTooMuch() throws IOException {
        ReadAllowance allowance = allowance(false);
        allowance.givesStates();
        int part = 256 << 10;
        for (int second = 0; second < 60; second++) {
            nowNs += TimeUnit.SECONDS.toNanos(1);
            for (int parts = 0; parts < 16; parts++) {
                allowance.read(part);
                allowance.stateReceived(part);
            }
        }
        int kept = 0;
        while (!allowance.exceeded() && kept < 1_000) {
            try {
                allowance.read(part);
                allowance.stateReceived(part);
                kept++;
            } catch (IOException tooMuch) {
                assertThat(tooMuch).hasMessageContaining("more data than a collector does");
            }
        }
        long burst = ReadAllowance.MAX_STATE_BYTES - ReadAllowance.STATE_SECOND_BYTES;
        assertThat((long) kept * part).as("states at once, besides 4 MiB a second").isBetween(burst,
                burst + ReadAllowance.STATE_PART_BYTES);
    }

    /** What a part gave back is not for anything else. */
    @Test
    void nothingElseHasMoreRoomWhereThereAreStates() throws IOException {
        ReadAllowance without = allowance(false);
        without.stateReceived(1 << 20);
        assertLeft(without, ReadAllowance.START_BYTES);
        ReadAllowance with = allowance(false);
        with.givesStates();
        with.stateReceived(1 << 20);
        assertLeft(with, ReadAllowance.MAX_BYTES + ReadAllowance.STATE_PART_BYTES);
    }
}
