package io.github.bulletmetrics.topology.compat;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A row of the matrix: a Storm, what runs on it, and how the plugin is registered.
 *
 * @param line the Storm's folder in {@code topology/storms}.
 * @param whole whether the whole Bullet topology runs, and not {@link SmallTopology}.
 * @param bullet whose metrics are registered, and by whose signature.
 * @param java what it runs on.
 */
record Setup(String line, boolean whole, Registration registration, BulletRelease bullet, Jdk java) {
    /** All of {@code make compat} on its own Java, oldest first. */
    static final List<Setup> ALL = List.of(
        new Setup("1.0", false, Registration.EARLY, new BulletRelease("0.3.1")),
        new Setup("1.0", false, Registration.EARLY, new BulletRelease("0.4.3")),
        new Setup("1.2", false, Registration.LATE, new BulletRelease("0.9.1")),
        new Setup("2.1", false, Registration.SNIPPET, new BulletRelease("1.3.2")),
        new Setup("2.2", false, Registration.LATE, new BulletRelease("1.3.2")),
        new Setup("2.2", true, Registration.LATE, new BulletRelease("1.3.2")),
        new Setup("2.4", false, Registration.SNIPPET, new BulletRelease("1.3.2")),
        new Setup("2.6", false, Registration.LATE, new BulletRelease("1.3.2")),
        new Setup("2.8", false, Registration.SNIPPET, new BulletRelease("1.3.2")),
        new Setup("2.8", true, Registration.LATE, new BulletRelease("1.3.2")));
    /** Those of {@code make test-all}: the small topology on the oldest and on the newest Storm. */
    static final List<Setup> OLD_AND_NEW = List.of(small(ALL.get(0).line), small(ALL.get(ALL.size() - 1).line));

    /** The Storms that run on other Java versions too: the one of Bullet's own builds, and the newest. */
    private static final List<String> ON_OTHERS = List.of("2.2", "2.8");

    /** Java's Subject.getSubject, which the Nimbus of 2.2 calls, throws UnsupportedOperationException from then on. */
    private static final int NO_SUBJECT_SINCE = 24;

    private static final Path REPOSITORY = Path.of(System.getProperty("repository", ".")).toAbsolutePath().normalize();
    private static final Path TOPOLOGY = REPOSITORY.resolve("topology");
    private static final Pattern STORM_JAR = Pattern.compile("storm-(?:core|client)-([\\d.]+)\\.jar");

    Setup(String line, boolean whole, Registration registration, BulletRelease bullet) {
        this(line, whole, registration, bullet, Jdk.OWN);
    }

    /** All of {@code make compat}: {@link #ALL}, and some of them on other Java versions. */
    static List<Setup> on(List<Jdk> others) {
        return Stream.concat(ALL.stream(), others.stream().flatMap(jdk -> ALL.stream()
                .filter(setup -> ON_OTHERS.contains(setup.line) && setup.registration == Registration.LATE)
                .filter(setup -> jdk.feature() < NO_SUBJECT_SINCE || !setup.line.equals("2.2"))
                .map(setup -> new Setup(setup.line, setup.whole, setup.registration, setup.bullet, jdk)))).toList();
    }

    /** The last row of a Storm on which {@link SmallTopology} runs. */
    private static Setup small(String line) {
        return ALL.stream().filter(setup -> setup.line.equals(line) && !setup.whole).reduce((first, second) -> second)
                .orElseThrow();
    }

    static Path repository() {
        return REPOSITORY;
    }

    private Path lib() {
        return TOPOLOGY.resolve("storms").resolve(line).resolve("target/lib");
    }

    /** Storm's version, from its jar. */
    String storm() {
        try (Stream<Path> jars = Files.list(lib())) {
            return jars.map(jar -> STORM_JAR.matcher(jar.getFileName().toString())).filter(Matcher::matches)
                    .map(found -> found.group(1))
                .findFirst().orElseThrow(() -> new IllegalStateException("no Storm in " + lib()));
        } catch (IOException e) {
            throw new IllegalStateException("No Storm " + line + " in " + lib()
                    + ": type make compat, which fetches it", e);
        }
    }

    /**
     * Whether the plugin's latency hook is there: register() adds it, and a topology without Bullet has nothing for it.
     */
    boolean hasHook() {
        return registration != Registration.SNIPPET;
    }

    boolean stormFrom(int... version) {
        return new BulletRelease(storm()).from(version);
    }

    /** The topology's name, in which Storm takes no dots. */
    String topology() {
        return ((whole ? "bullet-" : "small-") + storm() + "-" + bullet.version() + "-java" + java.feature())
                .replace('.', '_');
    }

    /** What runs, for people. */
    String runs() {
        String metrics = "Bullet " + bullet.version();
        if (whole) {
            return metrics + ", complete topology";
        }
        return switch (registration) {
            case EARLY -> metrics + " imitated, EarlyBulletMetricsConsumer";
            case LATE -> metrics + " imitated, BulletMetricsConsumer";
            case SNIPPET -> "no Bullet, StormMetricsConsumer";
        };
    }

    /**
     * The class path of a worker: Storm's, then the finished jar, then the topology's.
     *
     * @param folder with the storm.yaml of {@link Registration#SNIPPET}.
     */
    String classPath(Path folder) {
        String bulletsType = switch (registration) {
            case EARLY -> TOPOLOGY.resolve("early-bullet-config/target/classes").toString();
            case LATE -> TOPOLOGY.resolve("bullet-topology/target/bullet-topology.jar").toString();
            case SNIPPET -> folder.toString();
        };
        return String.join(File.pathSeparator, lib() + "/*",
                REPOSITORY.resolve("plugin-java/target/bullet-metrics-storm.jar").toString(),
            bulletsType, TOPOLOGY.resolve("compat-tests/target/test-classes").toString());
    }

    /** What this Storm's cluster needs of a JVM of today. */
    List<String> flags(Path hosts) {
        if (stormFrom(2, 3, 0)) {
            return List.of();
        }
        // Their ZooKeeper client reads the name of an address that was not resolved as Java up to 13 printed it.
        return List.of("-Dzookeeper.sasl.client=false", "-Djdk.net.hosts.file=" + hosts);
    }
}
