package io.github.bulletmetrics.storm.latency;

/**
 * The buckets of Prometheus' native histograms at schema 3. Bucket i is (2^((i-1)/8), 2^(i/8)], so that each bound is
 * 9% above the previous one. Each bound is exactly the double that Prometheus uses. A value that is equal to a bound
 * belongs to the bucket below it.
 *
 * <p>Source: Prometheus native histograms specification; the bounds are those of client_golang's {@code
 * nativeHistogramBounds}.
 */
final class Buckets {
    static final int SCHEMA = 3;
    static final int PER_DOUBLING = 1 << SCHEMA;

    /** Bounds of the buckets from 1/2 to 1, as {@code frexp} has its fractions. */
    private static final double[] BOUNDS = {0.5, 0.5452538663326288, 0.5946035575013605, 0.6484197773255048,
            0.7071067811865475,
        0.7711054127039704, 0.8408964152537144, 0.9170040432046711};
    private static final int MANTISSA_BITS = 52;
    private static final long MANTISSA = (1L << MANTISSA_BITS) - 1;
    /** The difference between a double's exponent bits and the exponent of {@code frexp}. */
    private static final int EXPONENT_BIAS = 1022;
    /** A cell is narrower than the closest two bounds, so that it holds one at most. */
    private static final int CELL_BITS = 6;
    private static final int CELL_SHIFT = MANTISSA_BITS - CELL_BITS;

    /** Mantissas of the bounds; behind the last one that no mantissa is above. */
    private static final long[] LIMITS = new long[PER_DOUBLING + 1];
    /** For each cell of the mantissa the first bound that is not below its start. */
    private static final byte[] FIRST_OF_CELL = new byte[1 << CELL_BITS];

    static {
        for (int i = 0; i < PER_DOUBLING; i++) {
            LIMITS[i] = Double.doubleToRawLongBits(BOUNDS[i]) & MANTISSA;
        }
        LIMITS[PER_DOUBLING] = MANTISSA;
        for (int cell = 0; cell < FIRST_OF_CELL.length; cell++) {
            while (LIMITS[FIRST_OF_CELL[cell]] < (long) cell << CELL_SHIFT) {
                FIRST_OF_CELL[cell]++;
            }
        }
    }

    private Buckets() {
    }

    /**
     * The bucket of a value, by the value's bits: no logarithm, no search.
     *
     * @param value above 0, and not so small that it is denormal (2e-308).
     */
    static int index(double value) {
        long bits = Double.doubleToRawLongBits(value);
        long mantissa = bits & MANTISSA;
        int first = FIRST_OF_CELL[(int) (mantissa >>> CELL_SHIFT)];
        int inDoubling = mantissa > LIMITS[first] ? first + 1 : first;
        return inDoubling + ((int) (bits >>> MANTISSA_BITS) - EXPONENT_BIAS - 1) * PER_DOUBLING;
    }
}
