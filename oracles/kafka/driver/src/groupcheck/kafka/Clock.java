package groupcheck.kafka;

import org.apache.kafka.common.utils.Time;
import org.apache.kafka.coordinator.common.runtime.CoordinatorEvent;
import org.apache.kafka.server.util.timer.Timer;
import org.apache.kafka.server.util.timer.TimerTask;
import org.apache.kafka.server.util.timer.TimerTaskEntry;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.AbstractExecutorService;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Virtual time, one event queue for all brokers, and their timers. Nothing runs by itself:
 * everything runs in drain(), in the caller's thread.
 */
final class Clock {
    // Concurrent: deleting a topic submits from a thread of its own.
    private final Deque<Runnable> queue = new ConcurrentLinkedDeque<>();
    private final List<Timers> timers = new ArrayList<>();
    private long now;
    private long armed;
    private long command;
    private int appendsOfCommand;

    /**
     * A broker's armed timers, in the order in which they are due; equal deadlines in the order of
     * arming.
     */
    final class Timers implements Timer {
        private final List<Due> due = new ArrayList<>();

        @Override
        public void add(TimerTask task) {
            if (task.delayMs <= 0) {
                task.run();
                return;
            }
            // It registers itself with the task; a task without an entry counts as cancelled.
            new TimerTaskEntry(task, now + task.delayMs);
            String append = isAppendTimeout(task) ? appendName() : null;
            due.add(new Due(now + task.delayMs, armed++, task, append));
        }

        @Override
        public boolean advanceClock(long ms) {
            return false;
        }

        @Override
        public int size() {
            return live().size();
        }

        @Override
        public void close() { }

        /** What is armed, soonest first. */
        List<Due> live() {
            due.removeIf(d -> d.task.isCancelled());
            due.sort(Comparator.comparingLong(Due::at).thenComparingLong(Due::order));
            return due;
        }

        /** Runs one armed timer now, whatever its deadline; the time does not move. */
        void fire(Due chosen) {
            due.remove(chosen);
            chosen.task.run();
            drain();
        }
    }

    /**
     * An armed timer. `append` names the append whose time-out it is; it is null for a timer of the
     * coordinator's own.
     */
    record Due(long at, long order, TimerTask task, String append) { }

    Timers newTimers() {
        Timers made = new Timers();
        timers.add(made);
        return made;
    }

    void forget(Timers gone) {
        timers.remove(gone);
    }

    void reset(long start) {
        now = start;
        armed = 0;
        queue.clear();
        timers.clear();
    }

    /**
     * Appends that start from now on are called after this command: append-7, then append-7.2 and
     * so on.
     */
    void startCommand(long number) {
        command = number;
        appendsOfCommand = 0;
    }

    private String appendName() {
        return "append-" + command + (++appendsOfCommand > 1 ? "." + appendsOfCommand : "");
    }

    private static boolean isAppendTimeout(TimerTask task) {
        // CoordinatorRuntime.OperationTimeout is not public.
        return task.getClass().getSimpleName().equals("OperationTimeout");
    }

    long now() {
        return now;
    }

    Time time() {
        return new Time() {
            @Override
            public long milliseconds() {
                return now;
            }

            @Override
            public long nanoseconds() {
                return now * 1_000_000;
            }

            @Override
            public void sleep(long ms) { }

            @Override
            public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) {
                throw new UnsupportedOperationException();
            }
        };
    }

    /**
     * Time passes. What comes due runs one by one, each at its own time, brokers in the order of
     * their start.
     */
    void advance(long ms) {
        long until = now + ms;
        while (true) {
            Timers next = null;
            for (Timers t : timers)
                if (!t.live().isEmpty() && t.due.get(0).at <= until
                        && (next == null || t.due.get(0).at < next.due.get(0).at)) {
                    next = t;
                }
            if (next == null) break;
            now = Math.max(now, next.due.get(0).at);
            next.fire(next.due.get(0));
        }
        now = until;
    }

    void enqueue(CoordinatorEvent event, boolean first) {
        Runnable run = () -> {
            try {
                event.run();
            } catch (Throwable t) {
                event.complete(t);
            }
        };
        if (first) queue.addFirst(run);
        else queue.addLast(run);
    }

    /** Runs the queue until it is empty. */
    void drain() {
        for (Runnable next; (next = queue.poll()) != null; ) next.run();
    }

    /**
     * Background tasks (regular expressions) run in the same queue, after the event that submitted
     * them.
     */
    final class Background extends AbstractExecutorService {
        @Override
        public void execute(Runnable task) {
            queue.addLast(task);
        }

        @Override
        public void shutdown() { }

        @Override
        public List<Runnable> shutdownNow() {
            return List.of();
        }

        @Override
        public boolean isShutdown() {
            return false;
        }

        @Override
        public boolean isTerminated() {
            return false;
        }

        @Override
        public boolean awaitTermination(long time, TimeUnit unit) {
            return true;
        }
    }
}
