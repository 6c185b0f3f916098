package io.github.bulletmetrics.storm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Which package may name which. */
class PackageRulesTest {
    private static final String OURS = "io.github.bulletmetrics.storm";
    private static final Path SOURCES = Path.of("src/main/java/io/github/bulletmetrics/storm");
    private static final Pattern NAMED = Pattern.compile("\\b(io\\.grpc|org\\.apache\\.storm|com\\.yahoo|"
            + OURS.replace(".", "\\.") + "\\.[a-z]+)\\b(?=[.\\w]*[.;])");
    /** "" is the package of the consumer itself. */
    private static final Map<String, Set<String>> MAY_NAME = Map.of(
            "", Set.of("org.apache.storm", "com.yahoo", "flatten", "grpc", "latency", "proto", "queue", "sampler",
            "send"),
            "grpc", Set.of("io.grpc", "proto", "send"),
            "send", Set.of("proto", "queue"),
            "flatten", Set.of("latency", "proto", "queue", "sampler"),
            "latency", Set.of(),
            "queue", Set.of("proto"),
            "sampler", Set.of());

    @Test
    void packagesNameOnlyWhatTheyMay() throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(SOURCES)) {
            files = all.filter(file -> file.toString().endsWith(".java")).toList();
        }
        assertThat(files).hasSizeGreaterThan(30);
        Set<String> breaches = new TreeSet<>();
        Set<String> seen = new TreeSet<>();
        for (Path file : files) {
            String of = SOURCES.relativize(file).getNameCount() == 1 ? "" : SOURCES.relativize(file).getName(0)
                    .toString();
            for (String named : named(file, of)) {
                seen.add(of + " names " + named);
                if (!MAY_NAME.get(of).contains(named)) {
                    breaches.add(SOURCES.relativize(file) + " names " + named);
                }
            }
        }
        assertThat(breaches).isEmpty();
        assertThat(seen).as("what the test sees").contains(" names org.apache.storm", " names send",
                "grpc names io.grpc", "flatten names queue");
    }

    private static Set<String> named(Path file, String of) throws IOException {
        Set<String> named = new TreeSet<>();
        String code = Files.readString(file).replaceAll("(?s)/\\*.*?\\*/", "").replaceAll("//.*", "")
                .replaceAll("(?m)^package .*$", "");
        for (Matcher found = NAMED.matcher(code); found.find();) {
            String name = found.group(1).startsWith(OURS) ? found.group(1).substring(OURS.length() + 1)
                    : found.group(1);
            if (!name.equals(of)) {
                named.add(name);
            }
        }
        return named;
    }
}
