package com.yahoo.bullet.storm.drpc;

import com.yahoo.bullet.common.BulletConfig;
import com.yahoo.bullet.common.Validator;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.function.Predicate;

/**
 * The settings {@code bullet.pubsub.storm.drpc.*}. As in Bullet, a bad value is logged and replaced by the default.
 *
 * @param servers the hosts of the DRPC servers.
 * @param function the DRPC function that the topology answers.
 * @param protocol http or https, for submitters.
 * @param port the servers' HTTP port, for submitters.
 * @param path what comes before the function in the URL, for submitters.
 * @param connectTimeoutMs how long a submitter waits for a connection, ms.
 * @param retries how often a submitter tries again to connect.
 * @param maxUncommitted how many queries a query spout has on their way at most.
 */
public record DRPCSettings(List<String> servers, String function, String protocol, int port, String path,
        int connectTimeoutMs,
                           int retries, int maxUncommitted) {
    private static final Logger LOG = LoggerFactory.getLogger(DRPCSettings.class);
    private static final String PREFIX = "bullet.pubsub.storm.drpc.";

    /**
     * Reads the settings.
     *
     * @param config any Bullet configuration.
     * @return settings that can be used.
     * @throws IllegalArgumentException when windows are not disabled: DRPC gives one result for a query.
     */
    public static DRPCSettings from(BulletConfig config) {
        if (!Boolean.TRUE.equals(config.get(BulletConfig.WINDOW_DISABLE))) {
            throw new IllegalArgumentException(BulletConfig.WINDOW_DISABLE + " must be true with "
                    + DRPCPubSub.class.getName()
                + ": DRPC gives one result for a query, so there can be no windows");
        }
        return new DRPCSettings(
            checked(config, "servers", DRPCSettings::isListOfNames, (List<?>) List.of("127.0.0.1")).stream()
            .map(String::valueOf).toList(),
            checked(config, "function", Validator::isString, "bullet-query"),
            checked(config, "http.protocol", Validator.isIn("http", "https"), "http"),
            Integer.parseInt(checked(config, "http.port", DRPCSettings::isPort, (Object) 3774).toString()),
            checked(config, "http.path", Validator::isString, "drpc"),
            checked(config, "http.connect.timeout.ms", Validator::isPositiveInt, (Number) 5_000).intValue(),
            checked(config, "http.connect.retry.limit", Validator::isPositiveInt, (Number) 3).intValue(),
            checked(config, "max.uncommitted.messages", Validator::isPositiveInt, (Number) 50).intValue());
    }

    @SuppressWarnings("unchecked")
    private static <T> T checked(BulletConfig config, String name, Predicate<Object> check, T byDefault) {
        Object value = config.get(PREFIX + name);
        if (value != null && check.test(value)) {
            return (T) value;
        }
        if (value != null) {
            LOG.warn("{} cannot be {}; using {}", PREFIX + name, value, byDefault);
        }
        return byDefault;
    }

    private static boolean isListOfNames(Object value) {
        return value instanceof List<?> list && !list.isEmpty() && list.stream().allMatch(Validator::isString);
    }

    /** A number, or a text that is one, as Bullet has it. */
    private static boolean isPort(Object value) {
        return value.toString().matches("[1-9]\\d{0,4}") && Integer.parseInt(value.toString()) < 1 << 16;
    }
}
