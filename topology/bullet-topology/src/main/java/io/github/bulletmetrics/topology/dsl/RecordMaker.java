package io.github.bulletmetrics.topology.dsl;

import com.yahoo.bullet.dsl.BulletDSLException;
import com.yahoo.bullet.dsl.converter.BulletRecordConverter;
import com.yahoo.bullet.dsl.deserializer.BulletDeserializer;
import com.yahoo.bullet.record.BulletRecord;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.io.Serializable;

/**
 * Converts messages to records with the deserializer and the converter, and sets the field of the broker's timestamp. A
 * message is dropped if the converter throws any exception. In Bullet, a RuntimeException, such as Gson's for invalid
 * JSON, ends the worker, and the same message then ends the next worker. Used by one thread.
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
     * @param receivedMs the broker's timestamp, or null if it is unknown.
     * @return null if the message cannot be converted; only the first of consecutive failures is logged.
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
                LOG.error("{} cannot convert a message; dropping messages until one can be converted",
                          converter.getClass().getName(), e);
            }
            return null;
        }
    }
}
