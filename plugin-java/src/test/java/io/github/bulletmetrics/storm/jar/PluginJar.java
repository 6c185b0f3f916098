package io.github.bulletmetrics.storm.jar;

import static org.awaitility.Awaitility.await;

import java.io.File;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** The finished jar, and JVMs that have it beside Storm and nothing else. */
final class PluginJar {
    private static final int PATIENCE_SECONDS = 120;

    private PluginJar() {
    }

    /** The jar that is to be tested, as the build names it. */
    static Path path() {
        String name = System.getProperty("plugin.jar");
        if (name == null || !Files.isRegularFile(Path.of(name))) {
            throw new IllegalStateException("no finished jar at " + name + ": run mvn verify, which sets plugin.jar");
        }
        return Path.of(name);
    }

    /**
     * Runs a class of the test's own in a JVM with the jar, Storm 1.0.3 and no Bullet.
     *
     * @param until when this holds, the JVM is asked to end, by a line on its standard input.
     * @return what it printed.
     */
    static String run(Class<?> main, BooleanSupplier until, String... arguments) throws Exception {
        return run(main, List.of(), until, arguments);
    }

    /**
     * The same with parts of this JVM's class path beside the jar and Storm: those whose path has one of these texts.
     */
    static String run(Class<?> main, List<String> beside, BooleanSupplier until, String... arguments) throws Exception {
        return run(main, beside, Map.of(), until, arguments);
    }

    /** Runs a class that ends by itself, in a JVM with these variables in its environment. */
    static String run(Class<?> main, Map<String, String> environment, String... arguments) throws Exception {
        return run(main, List.of(), environment, () -> false, arguments);
    }

    private static String run(Class<?> main, List<String> beside, Map<String, String> environment,
            BooleanSupplier until, String... arguments) throws Exception {
        List<String> command =
                new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m",
                "-cp",
                classPath(main, beside), main.getName()));
        command.addAll(Arrays.asList(arguments));
        Path output = Files.createTempFile("plugin-jar", ".log");
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().putAll(environment);
        Process process = builder.start();
        await().atMost(Duration.ofSeconds(PATIENCE_SECONDS)).until(() -> until.getAsBoolean() || !process.isAlive());
        if (process.isAlive()) {
            try (OutputStream in = process.getOutputStream()) {
                in.write('\n');
            }
        }
        boolean ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
        process.destroyForcibly().waitFor();
        String printed = Files.readString(output);
        Files.delete(output);
        if (!ended || process.exitValue() != 0) {
            throw new AssertionError((ended ? "exit code " + process.exitValue() : "not ended in time")
                    + "; it printed:\n" + printed);
        }
        return printed;
    }

    static String classPath(Class<?> main, List<String> beside) throws Exception {
        List<String> parts = new ArrayList<>(List.of(path().toString()));
        for (String part : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (part.contains(File.separator + "org" + File.separator + "apache" + File.separator + "storm"
                    + File.separator) || isOfStorm(part)
                    || beside.stream().anyMatch(part::contains)) {
                parts.add(part);
            }
        }
        parts.add(Path.of(main.getProtectionDomain().getCodeSource().getLocation().toURI()).toString());
        return String.join(File.pathSeparator, parts);
    }

    private static boolean isOfStorm(String part) {
        String name = new File(part).getName();
        return name.matches(
                "(clojure|kryo|minlog|objenesis|reflectasm|asm|disruptor|log4j|slf4j|servlet-api)-?.*\\.jar");
    }
}
