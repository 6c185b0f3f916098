package io.github.bulletmetrics.storm.latency;

import java.util.Arrays;

/** A growing buffer to which big-endian values are written. */
final class Bytes {
    private byte[] bytes;
    private int size;

    Bytes(int expected) {
        bytes = new byte[expected];
    }

    int size() {
        return size;
    }

    void u8(int value) {
        if (size == bytes.length) {
            bytes = Arrays.copyOf(bytes, size * 2);
        }
        bytes[size++] = (byte) value;
    }

    void u16(int value) {
        u8(value >> 8);
        u8(value);
    }

    /** Writes over what is there. */
    void u16At(int at, int value) {
        bytes[at] = (byte) (value >> 8);
        bytes[at + 1] = (byte) value;
    }

    void f64(double value) {
        long bits = Double.doubleToRawLongBits(value);
        for (int shift = 56; shift >= 0; shift -= 8) {
            u8((int) (bits >> shift));
        }
    }

    /** As protobuf has it. */
    void varint(long value) {
        long left = value;
        while ((left & ~0x7fL) != 0) {
            u8((int) (left & 0x7f | 0x80));
            left >>>= 7;
        }
        u8((int) left);
    }

    void bytes(byte[] more) {
        for (byte b : more) {
            u8(b);
        }
    }

    byte[] toArray() {
        return Arrays.copyOf(bytes, size);
    }
}
