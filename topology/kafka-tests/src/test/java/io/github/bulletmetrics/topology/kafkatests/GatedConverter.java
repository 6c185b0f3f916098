package io.github.bulletmetrics.topology.kafkatests;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.dsl.BulletDSLException;
import com.yahoo.bullet.dsl.converter.MapBulletRecordConverter;
import com.yahoo.bullet.record.BulletRecord;

import java.util.Map;
import java.util.concurrent.CountDownLatch;

/** Converts nothing until its gate is opened, and then to empty records. */
public final class GatedConverter extends MapBulletRecordConverter {
    private static final long serialVersionUID = 1L;
    static final CountDownLatch GATE = new CountDownLatch(1);

    public GatedConverter(BulletConfig config) throws BulletDSLException {
        super(config);
    }

    @Override
    public BulletRecord<?> convert(Object message, @SuppressWarnings("rawtypes") BulletRecord record)
    throws BulletDSLException {
        try {
            GATE.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new BulletDSLException("stopped");
        }
        return super.convert(Map.of(), record);
    }
}
