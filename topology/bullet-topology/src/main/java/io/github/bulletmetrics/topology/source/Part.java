package io.github.bulletmetrics.topology.source;

import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which of several producers one is, "2/4": they share the rates as the tasks of the topology's own source do, each
 * record made by one of them.
 *
 * @param number from 1.
 * @param of how many there are.
 */
record Part(int number, int of) {
    /** The most producers that share a rate. */
    static final int MOST = 1_000;
    private static final Pattern FORM = Pattern.compile("(\\d{1,4})/(\\d{1,4})");

    /**
     * Checks both.
     *
     * @throws IllegalArgumentException states what they must be.
     */
    Part {
        if (of < 1 || of > MOST || number < 1 || number > of) {
            throw new IllegalArgumentException("part " + number + "/" + of + " is not between 1/N and N/N, with N from 1 to "
                    + MOST);
        }
    }

    /**
     * Reads "2/4".
     *
     * @throws IllegalArgumentException states how it is written.
     */
    static Part parse(String text) {
        Matcher form = FORM.matcher(text);
        if (!form.matches()) {
            throw new IllegalArgumentException("'" + text + "' is not a part; the second of four is written 2/4");
        }
        return new Part(Integer.parseInt(form.group(1)), Integer.parseInt(form.group(2)));
    }

    /** Its place as a task's, from 0. */
    int task() {
        return number - 1;
    }

    /** For command lines. */
    static final class Converter implements ITypeConverter<Part> {
        @Override
        public Part convert(String text) {
            try {
                return parse(text);
            } catch (IllegalArgumentException e) {
                throw new TypeConversionException(e.getMessage());
            }
        }
    }
}
