package io.github.bulletmetrics.topology.kafkatests;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.dsl.BulletDSLException;
import com.yahoo.bullet.dsl.connector.KafkaConnector;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/** bullet-dsl's connector, counting the reads that brought something. */
public final class CountingConnector extends KafkaConnector {
    private static final long serialVersionUID = 1L;
    static final AtomicInteger BATCHES = new AtomicInteger();
    static final AtomicInteger LARGEST = new AtomicInteger();

    public CountingConnector(BulletConfig config) {
        super(config);
    }

    @Override
    public List<Object> read() throws BulletDSLException {
        List<Object> batch = super.read();
        if (!batch.isEmpty()) {
            LARGEST.accumulateAndGet(batch.size(), Math::max);
            BATCHES.incrementAndGet();
        }
        return batch;
    }
}
