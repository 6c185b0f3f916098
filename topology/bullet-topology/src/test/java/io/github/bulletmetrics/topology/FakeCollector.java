package io.github.bulletmetrics.topology;

import org.apache.storm.task.IOutputCollector;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.tuple.Tuple;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

/** Keeps what a bolt emits and acks. */
public final class FakeCollector implements IOutputCollector {
    public record Emitted(String stream, List<Object> values) {
    }

    public final List<Emitted> emitted = new ArrayList<>();
    public final List<Tuple> acked = new ArrayList<>();

    public OutputCollector asCollector() {
        return new OutputCollector(this);
    }

    public List<List<Object>> on(String stream) {
        return emitted.stream().filter(entry -> entry.stream().equals(stream)).map(Emitted::values).toList();
    }

    @Override
    public List<Integer> emit(String stream, Collection<Tuple> anchors, List<Object> values) {
        emitted.add(new Emitted(stream, values));
        return List.of();
    }

    @Override
    public void ack(Tuple tuple) {
        acked.add(tuple);
    }

    @Override
    public void emitDirect(int task, String stream, Collection<Tuple> anchors, List<Object> values) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void fail(Tuple tuple) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void resetTimeout(Tuple tuple) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void flush() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void reportError(Throwable error) {
        throw new UnsupportedOperationException(error);
    }
}
