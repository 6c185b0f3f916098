package io.github.bulletmetrics.topology.dsl;

import com.yahoo.bullet.dsl.BulletDSLException;
import com.yahoo.bullet.dsl.converter.BulletRecordConverter;
import com.yahoo.bullet.dsl.deserializer.BulletDeserializer;
import com.yahoo.bullet.record.BulletRecord;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.Serializable;

/**
 * Makes a record of a message: deserializer, converter, and the broker's timestamp into its field. A message that
 * cannot be converted is left out, whatever the converter throws: in Bullet a RuntimeException, such as Gson's for what
 * is not JSON, ends the worker, and the same message ends the next one. Used by one thread.
 */
final class RecordMaker implements Serializable {
    private static final long serialVersionUID = 1L;
    private static final Logger LOG = LoggerFactory.getLogger(RecordMaker.class);

    private final BulletDeserializer deserializer;
    private final BulletRecordConverter converter;
    private final String timestampField;
    private boolean failing;

    RecordMaker(BulletDeserializer deserializer, BulletRecordConverter converter, String timestampField) {
        this.deserializer = deserializer;
        this.converter = converter;
        this.timestampField = timestampField;
    }

    /**
     * Converts a message.
     *
     * @param message what the connector read.
     * @param receivedMs the broker's timestamp, or null where that is not known.
     * @return null when no record can be made of it; the first of a row is logged.
     */
    BulletRecord<?> make(Object message, Long receivedMs) {
        try {
            BulletRecord<?> record = converter.convert(deserializer.deserialize(message));
            if (timestampField != null && receivedMs != null) {
                record.setLong(timestampField, receivedMs);
            }
            failing = false;
            return record;
        } catch (BulletDSLException | RuntimeException e) {
            if (!failing) {
                failing = true;
                LOG.error("No record can be made of a message by {}; it and those of its kind that follow are left out",
                          converter.getClass().getName(), e);
            }
            return null;
        }
    }
}
