package io.github.bulletmetrics.topology.localkafka;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TopicExistsException;

/** Asks a broker about its topics. Each question is a connection of its own. */
final class Topics {
    private static final int LIMIT_MS = 20_000;
    private static final int ANSWER_LIMIT_MS = 2_000;

    private Topics() {
    }

    /** Whether the broker can say which topics it has. */
    static boolean answer(String bootstrap) throws InterruptedException {
        try (Admin admin = admin(bootstrap, ANSWER_LIMIT_MS)) {
            admin.listTopics().names().get();
            return true;
        } catch (ExecutionException notYet) {
            return false;
        }
    }

    /** @throws IOException also when there is such a topic already */
    static void create(String bootstrap, String topic, int partitions, Map<String, String> settings)
            throws IOException, InterruptedException {
        try (Admin admin = admin(bootstrap, LIMIT_MS)) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1).configs(settings))).all().get();
        } catch (ExecutionException e) {
            String advice = e.getCause() instanceof TopicExistsException ? ": take another name" : "";
            throw new IOException("cannot create topic " + topic + ": " + e.getCause().getMessage() + advice, e);
        }
    }

    /** Each topic of users with its partitions and how many records they hold, by name. */
    static List<Map<String, Object>> list(String bootstrap) throws IOException, InterruptedException {
        try (Admin admin = admin(bootstrap, LIMIT_MS)) {
            Collection<String> names = admin.listTopics().names().get();
            List<Map<String, Object>> topics = new ArrayList<>();
            for (TopicDescription topic : admin.describeTopics(names).allTopicNames().get().values()) {
                Map<String, Object> entry = new LinkedHashMap<>();
                entry.put("topic", topic.name());
                entry.put("partitions", topic.partitions().size());
                entry.put("records", records(admin, topic));
                topics.add(entry);
            }
            topics.sort((a, b) -> a.get("topic").toString().compareTo(b.get("topic").toString()));
            return topics;
        } catch (ExecutionException e) {
            throw new IOException("the broker at " + bootstrap + " did not list its topics: "
                    + e.getCause().getMessage(), e);
        }
    }

    private static long records(Admin admin, TopicDescription topic) throws ExecutionException, InterruptedException {
        return offsets(admin, topic, OffsetSpec.latest()) - offsets(admin, topic, OffsetSpec.earliest());
    }

    private static long offsets(Admin admin, TopicDescription topic, OffsetSpec which) throws ExecutionException,
            InterruptedException {
        Map<TopicPartition, OffsetSpec> asked = topic.partitions().stream()
            .collect(Collectors.toMap(partition -> new TopicPartition(topic.name(), partition.partition()),
            partition -> which));
        return admin.listOffsets(asked).all().get().values().stream().mapToLong(ListOffsetsResultInfo::offset).sum();
    }

    private static Admin admin(String bootstrap, int limitMs) {
        return Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap,
            AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, limitMs, AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG,
            limitMs));
    }
}
