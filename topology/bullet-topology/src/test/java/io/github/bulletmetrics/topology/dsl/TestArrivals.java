package io.github.bulletmetrics.topology.dsl;

import java.util.List;
import java.util.stream.IntStream;

/** Shows to tests in other packages what arrivals have taken down. */
public final class TestArrivals {
    private final Arrivals arrivals = new Arrivals();

    public Arrivals arrivals() {
        return arrivals;
    }

    public List<Long> receivedMs(int messages) {
        return IntStream.range(0, messages).mapToObj(arrivals::receivedMs).toList();
    }

    public long bytes() {
        return arrivals.bytes();
    }

    public long repeated() {
        return arrivals.repeated();
    }
}
