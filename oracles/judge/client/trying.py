"""Plays targets against a client, several programs side by side, each with its own coordinator; and
what came of it.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from attrs import Factory, define, frozen

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.client.moves import Move, Setting
from groupcheck.oracles.judge.client.record import Record
from groupcheck.oracles.judge.client.session import Command, Played, Session
from groupcheck.oracles.judge.client.targets import Target

IN_ONE_RUN = 5  # targets of one program, unless it has to begin anew
NEVER = "it never became a member"


@frozen
class Run:
    """One program's run, with the moves that were made."""

    setting: Setting
    played: tuple[Played, ...]
    record: Record
    # Was the client a member at all?
    began: bool
    # The last lines of the program's own log.
    log: tuple[str, ...] = ()

    def before(self, at: float) -> Played | None:
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


@define(eq=False)
class Progress:
    """How far it is."""

    of: int
    done: int = 0
    began: float = Factory(time.monotonic)


def trials(targets: Iterable[Target], command: Command, most: int = IN_ONE_RUN) -> list[Trial]:
    """Targets that can follow each other are tried in one run."""
    by_setting: dict[Setting, list[Target]] = {}
    found: list[Trial] = []
    for target in targets:
        if target.last:
            found.append(Trial(target.setting, (target,), command))
            continue
        some = by_setting.setdefault(target.setting, [])
        some.append(target)
        if len(some) == most:
            found.append(Trial(target.setting, tuple(some), command))
            some.clear()
    rest = [Trial(s, tuple(some), command) for s, some in by_setting.items() if some]
    return found + rest


def play(
    given: Sequence[Trial],
    jobs: int,
    until: float,
    heard: Callable[[Trial, Run], None],
    stopped: threading.Event,
) -> list[Target]:
    """Plays trials, `jobs` at a time, and calls `heard` in this thread with each run. No program is
    started after `until` (`time.monotonic`). The targets that nobody came to for lack of time.
    """
    todo: queue.SimpleQueue[Trial] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Trial, Run | None, BaseException | None]] = queue.SimpleQueue()
    for trial in given:
        todo.put(trial)
    left: list[Target] = []

    def work() -> None:
        while True:
            try:
                trial = todo.get_nowait()
            except queue.Empty:
                return
            if time.monotonic() > until or stopped.is_set():
                left.extend(trial.targets)
                continue
            try:
                run, rest = _one(trial, until, stopped)
            except BaseException as error:
                done.put((trial, None, error))
                return
            if rest:
                todo.put(Trial(trial.setting, rest, trial.command, trial.tag))
            done.put((trial, run, None))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(jobs, len(given)))]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads) or not done.empty():
            try:
                trial, run, error = done.get(timeout=0.2)
            except queue.Empty:
                continue
            if error is not None:
                raise error
            assert run is not None
            heard(trial, run)
    except BaseException:
        stopped.set()
        for thread in threads:
            thread.join()
        raise
    return left


def _one(trial: Trial, until: float, stopped: threading.Event) -> tuple[Run, tuple[Target, ...]]:
    """One run, and the targets that are left for another one."""
    todo = list(trial.targets)
    with Session(trial.command, trial.setting) as session:
        alone = bool(trial.setting.max_size or trial.setting.protocols)
        if alone:
            session.aim_first(todo[0])
        began = session.start()
        if alone:
            session.finish()
            todo.clear()
        while began and todo and not session.ended and not stopped.is_set():
            if time.monotonic() > until:
                break
            target = todo.pop(0)
            played = session.play(target.move, target.ways, target.state)
            if not played.calm:
                break
        record = session.close()
        run = Run(trial.setting, tuple(session.played), record, began, tuple(session.log))
    return run, tuple(todo) if began else ()


def checked(run: Run) -> None:
    """Raises `UserError` if the program did not even begin."""
    if not run.began and not run.record.events:
        last = run.log[-1] if run.log else "it says nothing"
        raise UserError(f"the program does not start: {last}", where="COMMAND")


__all__ = ["Move", "Progress", "Run", "Trial", "play", "trials"]
