package io.github.bulletmetrics.storm.send;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * The order in which a topology tries the addresses, determined by rendezvous hashing (Thaler and Ravishankar, 1998).
 * Topologies are distributed evenly over the addresses, and over the remaining ones if one is unavailable. If an
 * address is added, topologies move only to that one. The order is the same in every process.
 */
public final class Spread {
    private static final long FNV_OFFSET = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x100000001b3L;

    private Spread() {
    }

    /** The addresses, the topology's own first. */
    public static List<Address> order(String topology, List<Address> addresses) {
        List<Address> order = new ArrayList<>(addresses);
        order.sort(Comparator.comparingLong(address -> weight(topology, address)));
        return order;
    }

    private static long weight(String topology, Address address) {
        long hash = FNV_OFFSET;
        for (byte octet : (topology + '\0' + address).getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ octet & 0xff) * FNV_PRIME;
        }
        return mixed(hash);
    }

    /** FNV-1a alone leaves texts that differ at their end close to each other; this is MurmurHash3's finalizer. */
    private static long mixed(long hash) {
        long mixed = (hash ^ hash >>> 33) * 0xff51afd7ed558ccdL;
        mixed = (mixed ^ mixed >>> 33) * 0xc4ceb9fe1a85ec53L;
        return mixed ^ mixed >>> 33;
    }
}
