package io.github.bulletmetrics.storm;

import java.util.Random;
import java.util.function.Consumer;

/**
 * Holds a property to many cases of chance, the same ones each time: {@code -Dseed.first=N} plays others, as
 * {@code make fuzz} does. One that fails names its seed: {@code -Dseed=N} plays it alone.
 */
public final class Seeded {
    private Seeded() {
    }

    public static void cases(int number, Consumer<Random> property) {
        Long only = Long.getLong("seed");
        long first = only == null ? Long.getLong("seed.first", 1) : only;
        for (long seed = first; seed != first + (only == null ? number : 1); seed++) {
            try {
                property.accept(new Random(seed));
            } catch (RuntimeException | AssertionError failed) {
                throw new AssertionError("-Dseed=" + seed + " plays it again: " + failed.getMessage(), failed);
            }
        }
    }

    /**
     * Bytes that differ from others in up to four places: bytes and numbers of another value, parts that are cut,
     * doubled or out of their order.
     */
    public static byte[] mangled(Random random, byte[] from) {
        byte[] bytes = from;
        for (int changes = 1 + random.nextInt(4); changes > 0; changes--) {
            bytes = changed(random, bytes);
        }
        return bytes;
    }

    private static byte[] changed(Random random, byte[] from) {
        int at = random.nextInt(from.length + 1);
        int to = at + random.nextInt(Math.min(from.length - at, 64) + 1);
        return switch (random.nextInt(6)) {
            case 0 -> filled(from, at, 1, random.nextInt());
            case 1 -> filled(from, at, 1 << random.nextInt(4), random.nextBoolean() ? 0xff : 0);
            case 2 -> filled(from, at, 1, random.nextBoolean() ? 0x7f : 0x80);
            case 3 -> joined(from, at, from, to);
            case 4 -> joined(from, to, from, at);
            default -> joined(from, random.nextInt(8) == 0 ? at : from.length, new byte[random.nextInt(9)], 0);
        };
    }

    private static byte[] filled(byte[] from, int at, int length, int value) {
        byte[] bytes = from.clone();
        for (int i = at; i < Math.min(at + length, bytes.length); i++) {
            bytes[i] = (byte) value;
        }
        return bytes;
    }

    /** The beginning of one up to a place, and another from a place on. */
    private static byte[] joined(byte[] head, int until, byte[] tail, int from) {
        byte[] bytes = new byte[until + tail.length - from];
        System.arraycopy(head, 0, bytes, 0, until);
        System.arraycopy(tail, from, bytes, until, tail.length - from);
        return bytes;
    }

    /** A text of chance, of every script; no half of a surrogate pair, which UTF-8 cannot have. */
    public static String text(Random random, int maxBytes) {
        StringBuilder text = new StringBuilder();
        for (int bytes = random.nextInt(maxBytes + 1); bytes >= 4; bytes -= 4) {
            int symbol = random.nextInt(1 << (7 + random.nextInt(11)));
            text.appendCodePoint(symbol >= Character.MIN_SURROGATE && symbol <= Character.MAX_SURROGATE ? 'x' : symbol);
        }
        return text.toString();
    }
}
