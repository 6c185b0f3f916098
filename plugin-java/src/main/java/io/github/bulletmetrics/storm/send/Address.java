package io.github.bulletmetrics.storm.send;

/** Host and port of a collector. Immutable. */
public final class Address {
    /** The port of a collector whose address has none. */
    public static final int DEFAULT_PORT = 4320;

    private final String host;
    private final int port;

    private Address(String host, int port) {
        this.host = host;
        this.port = port;
    }

    /**
     * Reads "host", "host:port", "[IPv6]" or "[IPv6]:port".
     *
     * @throws IllegalArgumentException when it is none of these; the message states what is.
     */
    public static Address parse(String text) {
        String trimmed = text.trim();
        int portAt = trimmed.lastIndexOf(':');
        boolean bracketed = trimmed.startsWith("[");
        if (bracketed && portAt < trimmed.indexOf(']') || !bracketed && trimmed.indexOf(':') != portAt) {
            portAt = -1;
        }
        String host = portAt < 0 ? trimmed : trimmed.substring(0, portAt);
        if (bracketed && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        if (!isHost(host) || trimmed.indexOf('/') >= 0) {
            throw new IllegalArgumentException("'" + text
                    + "' is not an address; use HOST:PORT, for example collector.example:4320");
        }
        return new Address(host, portAt < 0 ? DEFAULT_PORT : port(text, trimmed.substring(portAt + 1)));
    }

    /** Whether a text may be a host's name or IP address: no number alone, which is a port without a host. */
    private static boolean isHost(String text) {
        boolean number = true;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (!Character.isLetterOrDigit(c) && "-_.:%".indexOf(c) < 0) {
                return false;
            }
            number = number && Character.isDigit(c);
        }
        return !number && !text.equals("null");
    }

    private static int port(String text, String port) {
        try {
            int number = Integer.parseInt(port);
            if (number >= 1 && number <= 65_535) {
                return number;
            }
        } catch (NumberFormatException noNumber) {
            // Said below.
        }
        throw new IllegalArgumentException("'" + text + "' has an invalid port; use a number from 1 to 65535");
    }

    /** The host's name or IP address, an IPv6 address without brackets. */
    public String host() {
        return host;
    }

    /** The port. */
    public int port() {
        return port;
    }

    /** Whether it is this machine's own, by name. */
    public boolean isLoopback() {
        return host.equals("localhost") || host.startsWith("127.") || host.equals("::1");
    }

    @Override
    public String toString() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
    }
}
