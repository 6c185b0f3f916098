package io.github.bulletmetrics.storm.latency;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.yahoo.bullet.pubsub.Metadata;
import com.yahoo.bullet.pubsub.PubSubMessage;
import java.lang.reflect.InvocationTargetException;
import org.junit.jupiter.api.Test;

class CreationsTest {
    private final Creations creations = new Creations();

    @Test
    void bulletsOwnMessageHasTheTimeOfItsCreation() throws Exception {
        Metadata metadata = new Metadata(null, null);
        metadata.setCreated(1_700_000_000_123L);
        assertThat(creations.of(new PubSubMessage("id", "query", metadata))).isEqualTo(1_700_000_000_123L);
        metadata.setCreated(0);
        assertThat(creations.of(new PubSubMessage("id", "query", metadata))).isEqualTo(Creations.UNKNOWN);
    }

    @Test
    void whatDoesNotSayIsNotTimedAndIsNoError() throws Exception {
        assertThat(creations.of(null)).isEqualTo(Creations.UNKNOWN);
        assertThat(creations.of("a query of Bullet 0.3")).isEqualTo(Creations.UNKNOWN);
        assertThat(creations.of(new Message(null))).isEqualTo(Creations.UNKNOWN);
        assertThat(creations.of(new Message("metadata of Bullet 0.5"))).isEqualTo(Creations.UNKNOWN);
        assertThat(creations.of(new Message(new Made("no number")))).isEqualTo(Creations.UNKNOWN);
        assertThat(creations.of(new Message(new Made(5L)))).isEqualTo(5);
        assertThat(creations.of("again another")).isEqualTo(Creations.UNKNOWN);
    }

    @Test
    void aCreationTimeThatCannotBeReadIsAnError() {
        assertThatThrownBy(() -> creations.of(new Message(new Made(null) {
            @Override
            public Object getCreated() {
                throw new IllegalStateException("broken");
            }
        }))).isInstanceOf(InvocationTargetException.class);
    }

    /** As Bullet's PubSubMessage, as far as it is asked. */
    public static class Message {
        private final Object metadata;

        Message(Object metadata) {
            this.metadata = metadata;
        }

        public Object getMetadata() {
            return metadata;
        }
    }

    /** As Bullet's Metadata. */
    public static class Made {
        private final Object created;

        Made(Object created) {
            this.created = created;
        }

        public Object getCreated() {
            return created;
        }
    }
}
