package io.github.bulletmetrics.topology;

import static org.assertj.core.api.Assertions.assertThat;

import com.yahoo.bullet.storm.BulletStormConfig;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.yaml.snakeyaml.Yaml;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** The launcher's settings: what {@code --print-config} says is what would be submitted. */
class BulletTopologyTest {
    private static final String REST = "bullet.pubsub.class.name: com.yahoo.bullet.pubsub.rest.RESTPubSub\n";

    @TempDir
    Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @AfterEach
    void forget() {
        System.clearProperty("storm.options");
    }

    @Test
    void printsEverythingThatHolds() throws IOException {
        Map<String, Object> settings = printed("bullet.topology.filter.bolt.parallelism: 3\nmy.own: {a: [1, null]}\n"
            + "bullet.topology.custom.topology.workers: 2\n");

        assertThat(settings).containsEntry("bullet.topology.filter.bolt.parallelism", 3)
            .containsEntry("bullet.topology.join.bolt.cpu.load", 100.0)
            .containsEntry("bullet.query.window.min.emit.every.ms", 1000)
            .containsEntry("bullet.topology.bullet.spout.class.name", null)
            .containsEntry("topology.workers", 2)
            .containsEntry("topology.fall.back.on.java.serialization", true);
        assertThat(settings.get("my.own")).hasToString("{a=[1, null]}");
    }

    @Test
    void helpSaysWhatItIs() {
        String help = BulletTopology.commandLine().getUsageMessage().replaceAll("\\s+", " ");
        assertThat(help).contains("Bullet's topology", "built on Bullet's own engine",
                "bullet-storm 1.3.2 but without its code");
    }

    /** The kinds of values, whichever of the two reads the -c. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '\0', value = {
        "topology.workers=4                                       | 4",
        "topology.debug=true                                      | true",
        "topology.stats.sample.rate=0.5                           | 0.5",
        "topology.worker.childopts=-Xmx64m -Dx=y,z                | -Xmx64m -Dx=y,z",
        "topology.kryo.register=[a.B, \"c.D,e\"]                  | [a.B, c.D,e]",
        "topology.environment={A: {b: 1}, c.d: [x]}               | {A={b=1}, c.d=[x]}",
        "topology.worker.gc.childopts=null                        | null",
        "topology.worker.gc.childopts=                            | null",
        "topology.name.of.mine='5'                                | 5",
        "bullet.topology.loop.bolt.pubsub.overrides={a.b: 1}      | {a.b=1}",
        "bullet.topology.filter.bolt.parallelism=7                | 7",
        "bullet.topology.filter.bolt.parallelism=null             | 16",
        "bullet.unheard.of=[1, 2]                                 | [1, 2]",
    })
    void takesAnyYamlValue(String option, String expected) throws IOException {
        String name = option.substring(0, option.indexOf('='));
        assertThat(String.valueOf(printed("", "-c", option).get(name))).isEqualTo(expected);

        byStormJar(option);
        Map<String, Object> settings = printed("");
        assertThat(settings).containsKey(name);
        assertThat(String.valueOf(settings.get(name))).isEqualTo(expected);
    }

    @Test
    void theLaterTheNearerHolds() throws IOException {
        byStormJar("bullet.topology.filter.bolt.parallelism=2", "topology.workers=2",
                "bullet.topology.join.bolt.parallelism=2");

        Map<String, Object> settings = printed(
            "bullet.topology.filter.bolt.parallelism: 1\nbullet.topology.join.bolt.parallelism: 1\nbullet.topology.result.bolt.parallelism: 1\n"
                + "bullet.topology.custom.topology.workers: 1\n",
            "-c", "bullet.topology.filter.bolt.parallelism=3");

        assertThat(settings).containsEntry("bullet.topology.result.bolt.parallelism", 1)
            .containsEntry("bullet.topology.join.bolt.parallelism", 2)
            .containsEntry("bullet.topology.filter.bolt.parallelism", 3)
            .containsEntry("topology.workers", 2);
    }

    @Test
    void theNameIsThatOfTheOptionThenOfStormThenOfBullet() throws IOException {
        String file = "bullet.topology.name: by-file\n";
        assertThat(printed(file)).containsEntry("bullet.topology.name", "by-file");
        assertThat(printed(file, "-c", "topology.name=by-storm")).containsEntry("bullet.topology.name", "by-storm");
        assertThat(printed(file, "-c", "topology.name=by-storm", "--name", "by-option"))
                .containsEntry("bullet.topology.name", "by-option");
    }

    /** StormSubmitter reads the property again, and lays it over. */
    @Test
    void stormReadsTheSameValues() {
        StormOptions.write(new Overrides().with(Map.of("topology.kryo.register", "[a.B, c.D]",
                "topology.worker.childopts", "-Da=b,c"))
            .storm());

        assertThat(org.apache.storm.utils.Utils.readCommandLineOpts().toString())
                .contains("topology.kryo.register=[\"a.B\",\"c.D\"]")
            .contains("topology.worker.childopts=-Da=b,c");
    }

    @Test
    void saysWhichOptionIsNoYaml() throws IOException {
        assertThat(run("", "-c", "topology.workers=[1")).isEqualTo(2);
        assertThat(err.toString()).contains("topology.workers=[1 is not YAML");
    }

    @Test
    void refusesAPubSubThatIsNotThere() throws IOException {
        assertThat(run("bullet.pubsub.class.name: com.yahoo.bullet.nosuch.PubSub\n")).isEqualTo(1);
        assertThat(err.toString()).contains("bullet.pubsub.class.name must name a PubSub",
                "com.yahoo.bullet.pubsub.rest.RESTPubSub");
        assertThat(run("bullet.pubsub.class.name: java.lang.String\n")).isEqualTo(1);
    }

    /** Settings of the shape that the public quick start has: of an older Bullet, with names that are no more. */
    @Test
    void anOldQuickStartsFileStartsThis() throws IOException {
        Map<String, Object> settings = printed(String.join("\n", "bullet.topology.function: bullet",
                "bullet.topology.name: bullet",
            "bullet.topology.metrics.enable: false", "bullet.topology.drpc.spout.parallelism: 1",
            "bullet.topology.filter.bolt.parallelism: 1",
            "bullet.topology.filter.bolt.cpu.load: 100.0", "bullet.topology.return.bolt.parallelism: 1",
            "bullet.topology.join.bolt.parallelism: 1", "bullet.topology.join.bolt.query.tick.timeout: 3",
            "bullet.topology.tick.interval.secs: 1", "bullet.query.aggregation.max.size: 1024",
            "bullet.query.aggregation.top.k.sketch.error.type: NFN", "bullet.query.max.duration: 570000",
            "bullet.result.metadata.metrics:", "    - name: Query Identifier", "      key: query_id",
            "bullet.record.inject.timestamp.enable: true", REST));

        assertThat(settings).containsEntry("bullet.topology.drpc.spout.parallelism", 1)
                .containsEntry("bullet.topology.filter.bolt.parallelism", 1)
            .containsEntry("bullet.query.aggregation.max.size", 1024)
            .containsEntry("bullet.topology.tick.spout.interval.ms", 100);
    }

    /**
     * All of Bullet's own defaults, written out. Its PubSub cannot have windows, and neither Bullet nor this starts it
     * with them.
     */
    @Test
    void bulletsDefaultsAsAFileStartThisOnceWindowsAreDisabled() throws IOException {
        String defaults;
        try (InputStream in = BulletStormConfig.class.getResourceAsStream("/"
                + BulletStormConfig.DEFAULT_STORM_CONFIGURATION)) {
            defaults = new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
        String file = defaults.replace("com.yahoo.bullet.pubsub.rest.RESTPubSub",
                "com.yahoo.bullet.storm.drpc.DRPCPubSub");
        assertThat(run(file)).isEqualTo(1);
        assertThat(err.toString()).contains("bullet.query.window.disable must be true");

        Map<String, Object> settings = printed(file, "-c", "bullet.query.window.disable=true");

        assertThat(settings).containsAllEntriesOf(new Yaml().load(file));
    }

    private static void byStormJar(String... options) {
        System.setProperty("storm.options",
                Arrays.stream(options).map(option -> URLEncoder.encode(option, StandardCharsets.UTF_8))
            .collect(Collectors.joining(",")));
    }

    private Map<String, Object> printed(String file, String... arguments) throws IOException {
        out.getBuffer().setLength(0);
        assertThat(run(file, arguments)).as(err.toString()).isZero();
        return new Yaml().load(out.toString());
    }

    private int run(String file, String... arguments) throws IOException {
        List<String> all = new ArrayList<>(
            List.of("--print-config", "--bullet-conf", Files.writeString(folder.resolve("bullet.yaml"),
            file).toString()));
        all.addAll(List.of(arguments));
        return BulletTopology.commandLine().setOut(new PrintWriter(out, true)).setErr(new PrintWriter(err, true))
            .execute(all.toArray(String[]::new));
    }
}
