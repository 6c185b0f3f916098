package io.github.bulletmetrics.topology.compat;

/**
 * What a check found.
 *
 * @param ok whether it is as it should be.
 * @param states the numbers.
 */
record Cell(boolean ok, String says) {
    static Cell of(boolean ok, String format, Object... numbers) {
        return new Cell(ok, String.format(java.util.Locale.ROOT, format, numbers));
    }

    String mark() {
        return ok ? "✓" : "✗";
    }
}
