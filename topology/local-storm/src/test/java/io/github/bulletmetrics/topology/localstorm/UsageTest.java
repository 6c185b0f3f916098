package io.github.bulletmetrics.topology.localstorm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class UsageTest {
    private final StringWriter complaint = new StringWriter();

    @ParameterizedTest
    @CsvSource({
        "up,                                                         Missing required options: '--dir=DIR'",
        "up --dir c,                                                 Missing required option: '--home=STORM_HOME'",
        "up --dir c --home h --slots 0,                              --slots must be 1 to 64",
        "up --dir c --home h --worker-heap-mib 1,                    --worker-heap-mib must be at least 32",
        "up --dir c --home h --extlib /no/such.jar,                  --extlib /no/such.jar is not a file",
        "up --dir c --home h -c nimbus.thrift.port=1,                the launcher itself sets [nimbus.thrift.port]",
        "up --dir c --home h -c worker.childopts=-Xmx1g,             use --worker-opts for options of workers",
        "submit --dir c --main M,                                    Missing required option: '--jar=JAR'",
        "kill --dir c,                                               Missing required option: '--topology=NAME'",
        "rebalance --dir c --topology t,                             Missing required option: '--workers=N'",
        "workers,                                                    Missing required option: '--dir=DIR'",
        "upp --dir c,                                                Unmatched argument",
    })
    void refusesWrongUsageWithCode2(String arguments, String expected) {
        CommandLine command = LocalStorm.commandLine().setErr(new PrintWriter(complaint, true));
        assertThat(command.execute(arguments.split(" "))).isEqualTo(2);
        assertThat(complaint.toString()).contains(expected);
    }

    @Test
    void refusesAHomeWithoutStormBeforeItTouchesTheDirectory(@TempDir Path scratch) {
        Path dir = scratch.resolve("c");
        assertThat(LocalStorm.commandLine().execute("up", "--dir", dir.toString(), "--home", scratch.toString()))
                .isEqualTo(1);
        assertThat(dir).doesNotExist();
    }

    @Test
    void passesWhatFollowsTheDoubleDashOnUnread() {
        CommandLine.ParseResult submit = LocalStorm.commandLine().parseArgs("submit", "--dir", "c", "--jar", "t.jar",
                "--main", "M",
            "--", "--bullet-conf", "f.yaml", "-c", "a=b", "--dir", "x").subcommand();
        assertThat(submit.matchedPositional(0).<List<String>>getValue())
            .containsExactly("--bullet-conf", "f.yaml", "-c", "a=b", "--dir", "x");
    }

    @Test
    void takesWorkerOptionsThatBeginWithADash() {
        CommandLine.ParseResult up = LocalStorm.commandLine().parseArgs("up", "--dir", "c", "--home", "h",
                "--worker-opts", "-client -Xss1m",
            "-c", "k=a=b", "-c", "l=[\"x\",2]").subcommand();
        assertThat(up.<String>matchedOptionValue("--worker-opts", null)).isEqualTo("-client -Xss1m");
        assertThat(up.<Map<String, String>>matchedOptionValue("-c", null))
                .isEqualTo(Map.of("k", "a=b", "l", "[\"x\",2]"));
    }

    @Test
    void findsNothingToEndOrToListWhereNothingWas(@TempDir Path scratch) {
        String dir = scratch.resolve("c").toString();
        assertThat(LocalStorm.commandLine().execute("down", "--dir", dir)).isZero();
        assertThat(LocalStorm.commandLine().execute("workers", "--dir", dir)).isZero();
        assertThat(LocalStorm.commandLine().execute("status", "--dir", dir)).isZero();
        assertThat(LocalStorm.commandLine().execute("kill", "--dir", dir, "--topology", "t")).isEqualTo(1);
        assertThat(Path.of(dir)).doesNotExist();
    }
}
