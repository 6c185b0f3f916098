package io.github.bulletmetrics.topology.localstorm.wordcount;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.storm.topology.BasicOutputCollector;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseBasicBolt;
import org.apache.storm.tuple.Tuple;

/** Counts words, and leaves a file named by its pid once it has seen one of them twice. */
public final class CountBolt extends BaseBasicBolt {
    private final String directory;
    private final Map<String, Long> counts = new HashMap<>();

    CountBolt(String directory) {
        this.directory = directory;
    }

    @Override
    public void execute(Tuple input, BasicOutputCollector collector) {
        if (counts.merge(input.getStringByField("word"), 1L, Long::sum) == 2) {
            leavePid();
        }
    }

    private void leavePid() {
        try {
            Files.writeString(Path.of(directory, Long.toString(ProcessHandle.current().pid())), "");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {
        // It emits nothing.
    }
}
