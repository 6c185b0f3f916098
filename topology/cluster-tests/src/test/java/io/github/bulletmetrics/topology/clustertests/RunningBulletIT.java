package io.github.bulletmetrics.topology.clustertests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.yaml.snakeyaml.Yaml;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The commands of {@code docs/running-bullet.md}, run by a shell as they stand there, where {@code storm} is a stand-in
 * for Storm's script: it takes {@code -c} for itself, as that does, and runs the class with Storm's real client jars.
 */
@Tag("slow")
@ExtendWith(ClusterExtension.class)
class RunningBulletIT {
    private static final Path DOCS = StormCluster.TOPOLOGY.resolveSibling("docs");
    private static final Path PAGE = DOCS.resolve("running-bullet.md");
    /** The page to which {@link #PAGE} refers for the plugin's settings. */
    private static final Path PLUGIN_PAGE = DOCS.resolve("get-started/first-metrics.md");
    private static final Duration LIMIT = Duration.ofSeconds(600);
    private static final String STORM = """
        #!/bin/bash
        set -euo pipefail
        [ "$1" = jar ]; jar=$PWD/$2; class=$3; shift 3
        options=; arguments=()
        encode() { local LC_ALL=C text=$1 i c; for ((i = 0; i < ${#text}; i++)); do c=${text:i:1}
          case $c in [a-zA-Z0-9.~_-]) printf %%s "$c";; *) printf '%%%%%%02X' "'$c";; esac; done; }
        while [ $# -gt 0 ]; do
          if [ "$1" = -c ]; then options+=${options:+,}$(encode "$2"); shift 2; else arguments+=("$1"); shift; fi
        done
        home='%s'
        exec '%s' -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dstorm.jar="$jar" -Dstorm.options="$options" -Dstorm.conf.file= \\
          -Dstorm.home="$home" -Dstorm.log.dir="$home/logs" -Dlogfile.name=storm-jar.log -Djava.net.preferIPv4Stack=true \\
          -Dlog4j2.configurationFile="$home/log4j2/client.xml" \\
          -cp "$home/lib-worker/*:$home/extlib/*:$jar:$home/conf" "$class" "${arguments[@]}"
        """;

    private static StormCluster cluster;
    private static Path desk;

    /** A folder with what the page states that one needs. */
    @BeforeAll
    static void layOut(StormCluster shared) throws Exception {
        cluster = shared;
        desk = Files.createDirectories(cluster.folder().resolve("desk"));
        Files.copy(StormCluster.TOPOLOGY_JAR, desk.resolve("bullet-topology.jar"));
        Files.writeString(Files.createFile(desk.resolve("storm"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x"))),
            String.format(STORM, cluster.home(), Path.of(System.getProperty("java.home"), "bin", "java")));
    }

    @Test
    void thePagesCommandsDoWhatItSays() throws Exception {
        try (Bullet bullet = Bullet.gateway(cluster, "bullet-by-hand", Bullet.arguments(Map.of()))) {
            String settings = Files.readString(StormCluster.SAMPLE_SETTINGS)
                    .replace("http://127.0.0.1:9901", bullet.url("").toString());
            Files.writeString(desk.resolve("bullet_settings.yaml"), settings + "\n"
                    + block(PLUGIN_PAGE, "yaml", "bullet.topology.metrics.classes"));

            run(block(PAGE, "sh", "--print-config"));
            Map<String, Object> effective = new Yaml().load(Files.readString(desk.resolve("effective.yaml")));
            assertThat(effective).containsEntry("topology.workers", 3)
                    .containsEntry("bullet.topology.filter.bolt.parallelism", 4)
                .containsEntry("topology.max.spout.pending", 1000);
            assertThat(effective.get("topology.metrics.consumer.register").toString())
                    .contains("io.github.bulletmetrics.storm.");
            assertThat(cluster.run("status").stdout()).doesNotContain("bullet-by-hand");

            run(block(PAGE, "sh", "--name bullet-by-hand"));
            bullet.awaitRunning();

            assertThat(bullet.workers()).hasSize(2).allSatisfy(worker ->
                assertThat(commandLine(worker.pid())).contains("-XX:+UseG1GC", "-Dnote=a,b"));
            cluster.kill("bullet-by-hand");
        }
    }

    private static String commandLine(long pid) {
        return ProcessHandle.of(pid).flatMap(process -> process.info().commandLine()).orElse("");
    }

    /** The one block of a page with this text. */
    private static String block(Path page, String language, String text) throws Exception {
        Matcher blocks = Pattern.compile("```" + language + "\n(.*?)```", Pattern.DOTALL)
                .matcher(Files.readString(page));
        List<String> found = blocks.results().map(block -> block.group(1)).filter(block -> block.contains(text))
                .toList();
        assertThat(found).as("blocks of %s with %s", page, text).hasSize(1);
        return found.get(0);
    }

    private static void run(String commands) throws Exception {
        Path log = desk.resolve("shell.log");
        ProcessBuilder shell = new ProcessBuilder("bash", "-euo", "pipefail", "-c", commands).directory(desk.toFile())
            .redirectErrorStream(true).redirectOutput(log.toFile());
        shell.environment().merge("PATH", desk.toString(), (path, first) -> first + ":" + path);
        Process process = shell.start();
        await(commands).atMost(LIMIT).until(() -> !process.isAlive());
        assertThat(process.exitValue()).as("%s\n%s", commands, Files.readString(log)).isZero();
    }
}
