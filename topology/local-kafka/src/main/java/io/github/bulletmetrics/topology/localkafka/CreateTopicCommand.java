package io.github.bulletmetrics.topology.localkafka;

import io.github.bulletmetrics.topology.localprocess.Json;
import io.github.bulletmetrics.topology.localprocess.Program;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Creates a topic. */
@Command(name = "create-topic", mixinStandardHelpOptions = true, description = "Creates a topic of a running broker.")
final class CreateTopicCommand implements Callable<Integer> {
    @Option(names = "--dir", required = true, paramLabel = "DIR", description = "Directory of a running broker.")
    private Path dir;

    @Option(names = "--topic", required = true, paramLabel = "NAME", description = "The topic's name.")
    private String topic;

    @Option(names = "--partitions", defaultValue = "1", paramLabel = "N",
            description = "Partitions (default: ${DEFAULT-VALUE}).")
    private int partitions;

    @Option(names = "-c", paramLabel = "key=value", description = "A setting of the topic, for example"
        + " message.timestamp.type=LogAppendTime; may be repeated.")
    private Map<String, String> settings = new LinkedHashMap<>();

    @Spec
    private CommandSpec spec;

    @Override
    public Integer call() throws IOException, InterruptedException {
        Program.require(spec, partitions >= 1, "--partitions must be at least 1");
        Broker.Ready broker = BrokerDirectory.at(dir).requireReady();
        Topics.create(broker.bootstrap(), topic, partitions, settings);
        Program.print(Json.object("topic", topic, "partitions", partitions, "bootstrap", broker.bootstrap()));
        return 0;
    }
}
