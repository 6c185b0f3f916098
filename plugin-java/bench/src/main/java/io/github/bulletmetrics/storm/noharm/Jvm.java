package io.github.bulletmetrics.storm.noharm;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** JVMs of their own. */
final class Jvm {
    private Jvm() {
    }

    static List<String> command(String heap, Class<?> main, String... arguments) {
        return command(System.getProperty("java.class.path"), heap, main, arguments);
    }

    /** On a class path without the finished jar, whose classes know a relocated gRPC only. */
    static List<String> commandWithoutPlugin(String heap, Class<?> main, String... arguments) {
        return command(Paths.get(
                URI.create(main.getProtectionDomain().getCodeSource().getLocation().toString())).toString(), heap, main,
                arguments);
    }

    private static List<String> command(String classPath, String heap, Class<?> main, String... arguments) {
        List<String> command = new ArrayList<>(Arrays.asList(Paths.get(System.getProperty("java.home"), "bin",
                "java").toString(), heap, "-cp", classPath,
                main.getName()));
        Bench.SECONDS.ifPresent(seconds -> command.add(1, "-Dbench.seconds=" + seconds));
        command.addAll(Arrays.asList(arguments));
        return command;
    }

    /** Runs one to its end, with its output on ours. */
    static void run(String heap, Class<?> main, String... arguments) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command(heap, main, arguments)).inheritIO().start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        int code = process.waitFor();
        if (code != 0) {
            throw new IOException(main.getSimpleName() + " " + Arrays.toString(arguments) + " ended with " + code);
        }
    }
}
