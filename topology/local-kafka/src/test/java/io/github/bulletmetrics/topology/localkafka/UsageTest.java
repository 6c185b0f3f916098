package io.github.bulletmetrics.topology.localkafka;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class UsageTest {
    private final StringWriter complaint = new StringWriter();

    @ParameterizedTest
    @CsvSource({
        "up,                                              Missing required option: '--dir=DIR'",
        "up --dir k --heap-mib 1,                         --heap-mib must be at least 128",
        "up --dir k -c log.dirs=/tmp -c a=b,              the launcher itself sets [log.dirs]",
        "create-topic --dir k,                            Missing required option: '--topic=NAME'",
        "create-topic --dir k --topic t --partitions 0,   --partitions must be at least 1",
        "produce -- --topic t,                            Missing required option: '--dir=DIR'",
        "status,                                          Missing required option: '--dir=DIR'",
        "upp --dir k,                                     Unmatched argument",
    })
    void refusesWrongUsageWithCode2(String arguments, String expected) {
        CommandLine command = LocalKafka.commandLine().setErr(new PrintWriter(complaint, true));
        assertThat(command.execute(arguments.split(" "))).isEqualTo(2);
        assertThat(complaint.toString()).contains(expected);
    }

    @Test
    void passesWhatFollowsTheDoubleDashOnUnread() {
        CommandLine.ParseResult produce = LocalKafka.commandLine().parseArgs("produce", "--dir", "k", "--", "--topic",
                "t", "--dir", "x")
            .subcommand();
        assertThat(produce.matchedPositional(0).<List<String>>getValue()).containsExactly("--topic", "t", "--dir", "x");
    }

    @Test
    void refusesAHomeWithoutKafkaAndADirectoryOfSomebodyElse(@TempDir Path scratch) throws Exception {
        Path dir = scratch.resolve("k");
        assertThat(LocalKafka.commandLine().execute("up", "--dir", dir.toString(), "--home", scratch.toString()))
                .isEqualTo(1);
        assertThat(dir).doesNotExist();

        Files.createDirectories(scratch.resolve("home/lib"));
        Files.createFile(scratch.resolve("home/lib/kafka_2.13-0.jar"));
        Path file = Files.createFile(Files.createDirectory(dir).resolve("a file"));
        assertThat(LocalKafka.commandLine().execute("up", "--dir", dir.toString(), "--home",
                scratch.resolve("home").toString()))
            .isEqualTo(1);
        assertThat(file).exists();
    }

    @Test
    void findsNothingToEndOrToAskWhereNothingWas(@TempDir Path scratch) {
        String dir = scratch.resolve("k").toString();
        assertThat(LocalKafka.commandLine().execute("down", "--dir", dir)).isZero();
        assertThat(LocalKafka.commandLine().execute("status", "--dir", dir)).isZero();
        assertThat(LocalKafka.commandLine().execute("create-topic", "--dir", dir, "--topic", "t")).isEqualTo(1);
        assertThat(Path.of(dir)).doesNotExist();
    }
}
