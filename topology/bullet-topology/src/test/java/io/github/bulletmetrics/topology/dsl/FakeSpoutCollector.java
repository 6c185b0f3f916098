package io.github.bulletmetrics.topology.dsl;

import org.apache.storm.spout.ISpoutOutputCollector;
import org.apache.storm.spout.SpoutOutputCollector;

import java.util.ArrayList;
import java.util.List;

/** Keeps what a spout emits. */
public final class FakeSpoutCollector implements ISpoutOutputCollector {
    record Emitted(List<Object> values, Object id) {
    }

    final List<Emitted> emitted = new ArrayList<>();

    SpoutOutputCollector asCollector() {
        return new SpoutOutputCollector(this);
    }

    @Override
    public List<Integer> emit(String stream, List<Object> values, Object id) {
        emitted.add(new Emitted(values, id));
        return List.of();
    }

    @Override
    public void emitDirect(int task, String stream, List<Object> values, Object id) {
        throw new UnsupportedOperationException();
    }

    @Override
    public long getPendingCount() {
        return 0;
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
