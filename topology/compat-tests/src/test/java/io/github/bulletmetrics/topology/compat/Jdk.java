package io.github.bulletmetrics.topology.compat;

import java.io.File;
import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;

/**
 * A Java on which a Storm runs.
 *
 * @param home its folder, with bin/java.
 * @param feature its version, such as 17.
 */
record Jdk(Path home, int feature) {
    /** The one that runs this program. */
    static final Jdk OWN = new Jdk(Path.of(System.getProperty("java.home")), Runtime.version().feature());

    /** Those of a path of folders; none for an empty one. */
    static List<Jdk> others(String homes) {
        return Arrays.stream(homes.split(File.pathSeparator)).filter(home -> !home.isEmpty())
                .map(home -> Jdk.at(Path.of(home))).toList();
    }

    private static Jdk at(Path home) {
        Properties release = new Properties();
        try (Reader reader = Files.newBufferedReader(home.resolve("release"))) {
            release.load(reader);
        } catch (IOException e) {
            throw new UncheckedIOException("JAVA_HOMES: no Java in " + home, e);
        }
        String version = release.getProperty("JAVA_VERSION").replace("\"", "");
        return new Jdk(home, Runtime.Version.parse(version).feature());
    }

    String program() {
        return home.resolve("bin/java").toString();
    }
}
