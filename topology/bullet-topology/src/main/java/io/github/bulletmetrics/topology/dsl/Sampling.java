package io.github.bulletmetrics.topology.dsl;

import java.util.function.DoubleSupplier;

/** Decides by chance which messages go on, each for itself. Used by one thread. */
final class Sampling {
    private final double share;
    private final DoubleSupplier chance;

    /**
     * Keeps the share.
     *
     * @param percentage how many of a hundred go on; 100 asks no chance.
     * @param chance gives numbers from 0 (inclusive) to 1 (exclusive), evenly spread.
     */
    Sampling(double percentage, DoubleSupplier chance) {
        share = percentage / 100;
        this.chance = chance;
    }

    boolean takes() {
        return share >= 1 || chance.getAsDouble() < share;
    }
}
