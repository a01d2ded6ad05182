"""Plays targets against a client, several programs side by side, each with its own coordinator; and
what came of it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from attrs import evolve, frozen

from groupcheck.oracles.judge.client.moves import Setting
from groupcheck.oracles.judge.client.record import Asked, Record
from groupcheck.oracles.judge.client.session import Command, MoveResult, Session
from groupcheck.oracles.judge.client.targets import Target

IN_ONE_RUN = 5  # targets of one program, unless it has to begin anew


@frozen
class Run:
    """One program's run, with the moves that were made."""

    setting: Setting
    played: tuple[MoveResult, ...]
    record: Record
    # Was the client a member at all? Where it cannot be one (the group is full), did it ask?
    began: bool
    # The last lines of the program's own log.
    log: tuple[str, ...] = ()

    def before(self, at: float) -> MoveResult | None:
        """The move after which something was seen; None: before the first one."""
        return next((p for p in reversed(self.played) if p.began <= at), None)


@frozen
class Trial:
    """Targets for one run; for a second try of one target, only that move."""

    setting: Setting
    targets: tuple[Target, ...]
    # Whose program: the client's, or the control's.
    command: Command
    tag: object = None
    # A second try is played whatever the time.
    urgent: bool = False


def trials(targets: Iterable[Target], command: Command) -> list[Trial]:
    """Targets that can follow each other are tried in one run."""
    by_setting: dict[Setting, list[Target]] = {}
    found: list[Trial] = []
    for target in targets:
        if target.last:
            found.append(Trial(target.setting, (target,), command))
            continue
        some = by_setting.setdefault(target.setting, [])
        some.append(target)
        if len(some) == IN_ONE_RUN:
            found.append(Trial(target.setting, tuple(some), command))
            some.clear()
    rest = [Trial(s, tuple(some), command) for s, some in by_setting.items() if some]
    return found + rest


Heard = Callable[[Trial, Run], Iterable[Trial]]


class Pool:
    """Plays trials, some at a time."""

    def __init__(
        self, jobs: int, until: float, skips: Callable[[Target], bool] = lambda target: False
    ) -> None:
        """No target is begun after `until` (`time.monotonic`), unless its trial is `urgent`.
        `skips`: was it seen meanwhile? Called by several threads.
        """
        self._jobs, self._until, self._skips = jobs, until, skips
        self._todo: deque[Trial] = deque()
        self._done: queue.SimpleQueue[tuple[Trial, Run | None, BaseException | None]]
        self._done = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._running = 0
        self._stopped = threading.Event()
        # The targets that nobody came to for lack of time.
        self.left: list[Target] = []

    def play(self, given: Iterable[Trial], heard: Heard) -> None:
        """Plays all, and what `heard` gives for each run; it is called in this thread. Raises what
        a run raises.
        """
        self._todo.extend(given)
        threads: list[threading.Thread] = []
        try:
            while self._goes_on():
                threads = [thread for thread in threads if thread.is_alive()]
                for _ in range(min(self._jobs - len(threads), len(self._todo))):
                    threads.append(threading.Thread(target=self._work, daemon=True))
                    threads[-1].start()
                try:
                    trial, run, error = self._done.get(timeout=0.1)
                except queue.Empty:
                    continue
                if error is not None:
                    raise error
                assert run is not None
                more = list(heard(trial, run))
                with self._lock:
                    self._todo.extendleft(more)
        finally:
            self._stopped.set()
            for thread in threads:
                thread.join()

    def _goes_on(self) -> bool:
        """Is there something to play, under way, or to be heard? A trial is always one of these."""
        with self._lock:
            return bool(self._todo or self._running or not self._done.empty())

    def _work(self) -> None:
        while not self._stopped.is_set():
            with self._lock:
                if not self._todo:
                    return
                trial = self._todo.popleft()
                late = time.monotonic() > self._until and not trial.urgent
                if late:
                    self.left.extend(trial.targets)
                    continue
                self._running += 1
            run: Run | None = None
            rest: tuple[Target, ...] = ()
            failure: BaseException | None = None
            try:
                run, rest = self._one(trial)
            except BaseException as error:
                failure = error
            with self._lock:
                if rest:
                    self._todo.append(evolve(trial, targets=rest))
                self._done.put((trial, run, failure))
                self._running -= 1
            if failure is not None:
                return

    def _one(self, trial: Trial) -> tuple[Run, tuple[Target, ...]]:
        """One run, and the targets that are left for another one."""
        todo = list(trial.targets)
        with Session(trial.command, trial.setting, self._stopped) as session:
            alone = bool(trial.setting.max_size or trial.setting.protocols)
            first = todo.pop(0) if alone and todo else None
            if first is not None:
                session.aim_first(first)
            began = session.start()
            if first is not None:
                session.finish()
            while began and todo and not session.ended and not self._stopped.is_set():
                if time.monotonic() > self._until and not trial.urgent:
                    break
                target = todo.pop(0)
                if not trial.urgent and self._skips(target):
                    continue
                played = session.play(target.move, target.ways, target.state)
                if not played.calm:
                    break
            record = session.close()
            if alone:
                asked = [e.api for e in record.events if isinstance(e, Asked)]
                began = "JoinGroup" in asked
            run = Run(trial.setting, tuple(session.played), record, began, tuple(session.log))
        return run, tuple(todo) if began else ()
