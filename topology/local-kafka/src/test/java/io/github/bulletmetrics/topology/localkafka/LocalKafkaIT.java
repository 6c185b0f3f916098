package io.github.bulletmetrics.topology.localkafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import io.github.bulletmetrics.topology.localprocess.ProcessEntry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The finished launcher with a real broker. */
@Tag("slow")
class LocalKafkaIT {
    private static final Duration UP_LIMIT = Duration.ofSeconds(600);
    private static final int STOP_LIMIT_SECS = 15;

    @TempDir
    private Path scratch;

    private Launcher launcher;
    private Path dir;
    private BrokerDirectory directory;

    @BeforeEach
    void prepare() throws Exception {
        launcher = new Launcher(scratch);
        dir = scratch.resolve("a broker");
        directory = BrokerDirectory.at(dir);
    }

    @AfterEach
    void leaveNothing() throws Exception {
        launcher.run("down", "--dir", dir.toString());
        assertThat(directory.leftovers().alive()).isEmpty();
    }

    @Test
    void runsABrokerRefusesASecondOneAndStopsOnSigterm() throws Exception {
        Process up = launcher.up(dir);
        JsonObject ready = awaitReady(up);
        assertThat(ready.get("bootstrap").getAsString()).startsWith("127.0.0.1:");
        assertThat(directory.leftovers().alive()).extracting(ProcessEntry::pid)
                .containsExactly(ready.get("pid").getAsLong());

        Launcher.Result created = launcher.run("create-topic", "--dir", dir.toString(), "--topic", "records",
                "--partitions", "3",
            "-c", "message.timestamp.type=LogAppendTime");
        assertThat(created.stdout()).isEqualTo(
            "{\"topic\":\"records\",\"partitions\":3,\"bootstrap\":\"" + ready.get("bootstrap").getAsString()
            + "\"}\n");
        assertThat(launcher.run("create-topic", "--dir", dir.toString(), "--topic", "records").stderr())
                .contains("take another name");
        assertThat(launcher.run("status", "--dir", dir.toString()).stdout())
                .contains("\"running\":true", "\"ready\":true",
            "\"topics\":[{\"topic\":\"records\",\"partitions\":3,\"records\":0}]");

        Launcher second = new Launcher(Files.createDirectory(scratch.resolve("second")));
        Process refused = second.up(dir);
        assertThat(refused.waitFor(STOP_LIMIT_SECS, TimeUnit.SECONDS)).isTrue();
        assertThat(refused.exitValue()).isEqualTo(1);
        assertThat(second.stderr("up")).contains("is used by a running broker");

        up.destroy();
        assertStopped(up, 0);
        assertThat(directory.data()).doesNotExist();
        assertThat(directory.log("broker.log")).exists();
        assertThat(launcher.run("status", "--dir", dir.toString()).stdout())
                .contains("\"running\":false", "\"leftover_pids\":[]");
    }

    @Test
    void downEndsWhatAKilledLauncherLeftAndAnotherOneStarts() throws Exception {
        Process up = launcher.up(dir);
        awaitReady(up);
        up.destroyForcibly().waitFor();
        assertThat(directory.leftovers().alive()).hasSize(1);

        Launcher.Result down = launcher.run("down", "--dir", dir.toString());

        assertThat(directory.leftovers().alive()).isEmpty();
        assertThat(down.code()).as(down.stderr()).isZero();
        assertThat(down.stderr()).contains("ended 1 processes");

        Process again = launcher.up(dir, "--stop-with-stdin");
        await("the directory to be formatted").atMost(UP_LIMIT).until(() -> Files.exists(directory.log("broker.log")));
        again.getOutputStream().close();
        assertStopped(again, 0);
        assertThat(launcher.stdout("up")).as("stopped before it was up").isEmpty();
    }

    @Test
    void reportsThatTheBrokerDied() throws Exception {
        Process up = launcher.up(dir);
        long pid = awaitReady(up).get("pid").getAsLong();

        ProcessHandle.of(pid).orElseThrow().destroyForcibly();

        assertStopped(up, 1);
        assertThat(launcher.stderr("up")).contains("the broker (pid " + pid + ") ended unexpectedly", "last lines of",
                "broker.log");
    }

    private JsonObject awaitReady(Process up) throws Exception {
        await("the broker").atMost(UP_LIMIT).until(() -> launcher.stdout("up").endsWith("\n") || !up.isAlive());
        assertThat(up.isAlive()).as(launcher.stderr("up")).isTrue();
        return JsonParser.parseString(launcher.stdout("up")).getAsJsonObject();
    }

    private void assertStopped(Process up, int code) throws Exception {
        assertThat(up.waitFor(STOP_LIMIT_SECS, TimeUnit.SECONDS)).as(launcher.stderr("up")).isTrue();
        assertThat(up.exitValue()).as(launcher.stderr("up")).isEqualTo(code);
        assertThat(directory.leftovers().alive()).isEmpty();
    }
}
