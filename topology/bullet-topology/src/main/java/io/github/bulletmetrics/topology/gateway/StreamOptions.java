package io.github.bulletmetrics.topology.gateway;

/**
 * The limits of streamed answers.
 *
 * @param bufferBytes the most bytes that wait for one client; beyond that its oldest windows are left out and counted.
 * @param heartbeatMs a client that was sent nothing for this long gets a comment: so one that has gone is noticed.
 * @param stallMs a client that takes nothing for this long is taken as gone, ms.
 */
public record StreamOptions(int bufferBytes, long heartbeatMs, long stallMs) {
    /**
     * Checks that all are positive.
     *
     * @throws IllegalArgumentException names the one that is not.
     */
    public StreamOptions {
        GatewayOptions.atLeastOne("stream-buffer-bytes", bufferBytes);
        GatewayOptions.atLeastOne("heartbeat-ms", heartbeatMs);
        GatewayOptions.atLeastOne("stall-ms", stallMs);
    }

    /**
     * 4 MiB, dozens of large windows; 5 s, so that a query whose client has gone is killed within about 10; 10 s.
     *
     * @return the defaults.
     */
    public static StreamOptions defaults() {
        return new StreamOptions(1 << 22, 5_000, 10_000);
    }
}
