package io.github.bulletmetrics.topology.localprocess;

import java.time.Duration;
import java.util.Optional;

/** A point in time (of the monotonic clock) after which waiting ends. */
public final class Deadline {
    private static final long POLL_MS = 50;

    private final long nanoTime;

    private Deadline(long nanoTime) {
        this.nanoTime = nanoTime;
    }

    public static Deadline in(Duration wait) {
        return new Deadline(System.nanoTime() + wait.toNanos());
    }

    /** This deadline, or one that is {@code wait} from now, whichever comes first. */
    public Deadline atMost(Duration wait) {
        Deadline other = in(wait);
        return other.nanoTime - nanoTime < 0 ? other : this;
    }

    public boolean passed() {
        return System.nanoTime() - nanoTime >= 0;
    }

    /** A question that may fail. */
    public interface Condition<E extends Exception> {
        boolean holds() throws E;
    }

    /** A look for something that is not there yet. */
    public interface Attempt<T, E extends Exception> {
        Optional<T> get() throws E;
    }

    /** Polls the condition until it holds (true) or the deadline has passed (false); it is asked at least once. */
    public <E extends Exception> boolean await(Condition<E> condition) throws E {
        return poll(() -> condition.holds() ? Optional.of(true) : Optional.<Boolean>empty()).isPresent();
    }

    /** Repeats the attempt until it finds something, or the deadline has passed; it is made at least once. */
    public <T, E extends Exception> Optional<T> poll(Attempt<T, E> attempt) throws E {
        Optional<T> found = attempt.get();
        while (found.isEmpty() && !passed()) {
            pause();
            found = attempt.get();
        }
        return found;
    }

    private static void pause() {
        try {
            Thread.sleep(POLL_MS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while waiting", e);
        }
    }
}
