package groupcheck.kafka;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;

/**
 * The application's thread beside the driver's: one of the two runs, the other one waits for it. It
 * comes back when its call is over, or at a point where the driver wants it to wait.
 */
final class ApplicationThread {
    private static final ExecutorService THREADS = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "application");
        thread.setDaemon(true);
        return thread;
    });

    private final Semaphore goesOn = new Semaphore(0);
    private final Semaphore comesBack = new Semaphore(0);
    private volatile Thread thread;
    private volatile String waits = "";
    private volatile Throwable thrown;
    private volatile boolean abandoned;
    private volatile boolean fails;

    /** Ends a call whose member nobody needs any more. */
    private static final class Abandoned extends Error { }

    /** Where it waits; empty if no call is under way. */
    String waits() {
        return waits;
    }

    boolean isCurrent() {
        return Thread.currentThread() == thread;
    }

    /** Begins a call; returns when it waits or is over. What the call threw is in `thrown`. */
    void begin(Callable<?> call) {
        if (!waits.isEmpty()) throw new Refused("the application is in a call: " + waits);
        thrown = null;
        waits = "runs";
        THREADS.execute(() -> {
            thread = Thread.currentThread();
            try {
                call.call();
            } catch (Throwable t) {
                thrown = t;
            } finally {
                thread = null;
                waits = "";
                comesBack.release();
            }
        });
        comesBack.acquireUninterruptibly();
    }

    /** Goes on from the point where it waits. `failing`: the callback that waits there throws. */
    void goOn(boolean failing) {
        if (waits.isEmpty()) throw new Refused("the application is in no call");
        thrown = null;
        fails = failing;
        goesOn.release();
        comesBack.acquireUninterruptibly();
    }

    /** The application's thread waits here until the driver lets it go on. */
    void waitAt(String point) {
        if (abandoned) throw new Abandoned();
        waits = point;
        comesBack.release();
        goesOn.acquireUninterruptibly();
        waits = "runs";
        if (abandoned) throw new Abandoned();
    }

    /** Shall the callback that has waited throw? */
    boolean fails() {
        return fails;
    }

    void forget() {
        thrown = null;
    }

    /** What the last call threw; null if nothing. */
    Throwable thrown() {
        return thrown;
    }

    /** Ends the call that is under way. */
    void abandon() {
        abandoned = true;
        if (!waits.isEmpty()) goOn(false);
    }
}
