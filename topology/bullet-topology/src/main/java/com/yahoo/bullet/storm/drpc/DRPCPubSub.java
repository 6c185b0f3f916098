package com.yahoo.bullet.storm.drpc;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.pubsub.PubSub;
import com.yahoo.bullet.pubsub.PubSubException;
import com.yahoo.bullet.pubsub.Publisher;
import com.yahoo.bullet.pubsub.Subscriber;

import java.util.ArrayList;
import java.util.List;

/**
 * Storm's DRPC as a PubSub, by the name that {@code bullet.pubsub.class.name} has in Bullet's own files. Windows must
 * be disabled. In the topology ({@code QUERY_PROCESSING}) it needs Storm's configuration under
 * {@code bullet.topology.storm.config}. For submitters the n-th publisher is the n-th subscriber, so both must be asked
 * for in the same number.
 */
public final class DRPCPubSub extends PubSub {
    private final List<DRPCSubmitter> submitters = new ArrayList<>();

    /**
     * Keeps the settings.
     *
     * @param config Bullet's settings, {@code bullet.pubsub.storm.drpc.*} among them.
     * @throws PubSubException when the context's name is missing or unknown.
     * @throws IllegalArgumentException when windows are not disabled.
     */
    public DRPCPubSub(BulletConfig config) throws PubSubException {
        super(config);
        DRPCSettings.from(config);
    }

    @Override
    public Publisher getPublisher() {
        return getPublishers(1).get(0);
    }

    @Override
    public List<Publisher> getPublishers(int n) {
        List<Publisher> publishers = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            publishers.add(isSubmitter() ? submitter(i) : new DRPCResultPublisher(servers()));
        }
        return publishers;
    }

    @Override
    public Subscriber getSubscriber() {
        return getSubscribers(1).get(0);
    }

    @Override
    public List<Subscriber> getSubscribers(int n) {
        List<Subscriber> subscribers = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            subscribers.add(isSubmitter() ? submitter(i)
                : new DRPCQuerySubscriber(servers(), config, DRPCSettings.from(config).maxUncommitted()));
        }
        return subscribers;
    }

    private boolean isSubmitter() {
        return context == Context.QUERY_SUBMISSION;
    }

    private DRPCServers servers() {
        return new DRPCServers(config, DRPCSettings.from(config));
    }

    private synchronized DRPCSubmitter submitter(int index) {
        while (submitters.size() <= index) {
            submitters.add(new DRPCSubmitter(DRPCSettings.from(config)));
        }
        return submitters.get(index);
    }
}
