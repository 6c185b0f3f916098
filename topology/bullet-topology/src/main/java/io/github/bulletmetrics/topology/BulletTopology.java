package io.github.bulletmetrics.topology;

import com.yahoo.bullet.storm.BulletStormConfig;

import org.apache.storm.Config;
import org.apache.storm.StormSubmitter;
import org.apache.storm.generated.StormTopology;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;

/** Submits the Bullet topology to Storm: {@code storm jar bullet-topology.jar} and this class. */
@Command(name = "bullet-topology", mixinStandardHelpOptions = true, sortOptions = false,
    description = {"Submits Bullet's topology to Storm. It is built on Bullet's own engine (bullet-core, bullet-bql, bullet-record,"
        + " bullet-dsl), with the names of bullet-storm 1.3.2 but without its code.",
        "docs/running-bullet.md lists the differences from bullet-storm."},
    footer = {"", "Example:",
        "  storm jar bullet-topology.jar io.github.bulletmetrics.topology.BulletTopology \\",
        "    --bullet-conf bullet_settings.yaml -c bullet.topology.filter.bolt.parallelism=4"})
public final class BulletTopology implements Callable<Integer> {
    @Option(names = "--bullet-conf", required = true, paramLabel = "FILE",
            description = "Bullet's settings, a YAML file.")
    private Path file;

    @Option(names = "-c", paramLabel = "KEY=VALUE",
            description = "Overrides a setting of the file; the value is YAML. bullet.* is for Bullet, "
        + "others are for Storm. May be repeated.")
    private Map<String, String> overrides = new LinkedHashMap<>();

    @Option(names = "--name", paramLabel = "NAME", description = "Name of the topology; overrides topology.name of -c "
        + "and bullet.topology.name of the file.")
    private String name;

    @Option(names = {"--print-config", "--dry-run"},
            description = "Submits nothing: validates the settings, builds the topology and "
        + "prints all effective settings as YAML. Needs no cluster.")
    private boolean printConfig;

    @Spec
    private CommandSpec spec;

    /**
     * Exits with 0 when Storm has taken the topology, 1 when it has not, 2 on wrong arguments.
     *
     * @param arguments see {@code --help}.
     */
    public static void main(String[] arguments) {
        System.exit(commandLine().execute(arguments));
    }

    static CommandLine commandLine() {
        return new CommandLine(new BulletTopology()).setExecutionExceptionHandler((e, line, parsed) -> {
            line.getErr().println("The topology was not submitted: " + e.getMessage());
            e.printStackTrace(line.getErr());
            return line.getCommandSpec().exitCodeOnExecutionException();
        });
    }

    @Override
    public Integer call() throws Exception {
        Overrides given = given();
        BulletStormConfig config = Settings.forTopology(file, given.bullet());
        Object stormName = given.storm().remove(Config.TOPOLOGY_NAME);
        if (name != null || stormName != null) {
            config.set(BulletStormConfig.TOPOLOGY_NAME, name != null ? name : stormName.toString());
        }
        PubSubs.check(config);
        Config storm = Wiring.stormConfig(config);
        storm.putAll(given.storm());
        StormTopology topology = Wiring.topology(config);
        if (printConfig) {
            spec.commandLine().getOut().print(EffectiveSettings.yaml(config, storm));
            spec.commandLine().getOut().flush();
        } else {
            StormOptions.write(given.storm());
            StormSubmitter.submitTopology(config.getAs(BulletStormConfig.TOPOLOGY_NAME, String.class), storm, topology);
        }
        return CommandLine.ExitCode.OK;
    }

    private Overrides given() {
        try {
            return new Overrides().with(StormOptions.read()).with(overrides);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), e.getMessage(), e);
        }
    }
}
