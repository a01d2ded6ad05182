"""Random walks, for models that are too large to explore: many paths from the initial states, each
step drawn from all that are possible. What they find wrong is a path like any other; that they find
nothing proves nothing, so their verdict is never `holds`.

`swarm.py` says how walkers move. They go in generations, small ones first, so that walks are soon
deep. Walks without a number end by themselves, when nothing new has come for long: no outcome, no
goal, and hardly any row of a rule in the second half of all steps. New states alone do not count,
because a model that is too large to explore has always more of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise

from attrs import define, field, frozen

from groupcheck.model.engine.errors import RuleError
from groupcheck.model.engine.fast.checkpoint import numbers_of
from groupcheck.model.engine.fast.explore import (
    Run,
    StoppedError,
    answer,
    interrupts,
    nothing_found,
)
from groupcheck.model.engine.fast.memory import Watch, peak_bytes, without_collection
from groupcheck.model.engine.fast.shortening import key_of, shortest
from groupcheck.model.engine.fast.swarm import Swarm
from groupcheck.model.engine.fast.walked import Walked
from groupcheck.model.engine.paths import path_of
from groupcheck.model.engine.reference import violation
from groupcheck.model.engine.resident import Spare, no_room, ran_out, resident_bytes
from groupcheck.model.engine.spec import Spec
from groupcheck.model.engine.verdict import Limits, Progress, Verdict, Violation

LENGTH = 100
FIRST, MOST = 64, 1 << 14  # walkers of the first generation, and of the largest
PATIENCE = 1 << 21  # steps of walkers before walks end by themselves, if new states still come
NEWS = 1.05  # so many times as many rows are something new
STILL = 4  # generations; if the last ones met no new state, walks end
TENTHS = 10


@frozen
class Walks:
    """The random walks that are asked for."""

    # None: until nothing new has come for long.
    number: int | None = None
    # The most steps of each.
    length: int = LENGTH
    seed: int = 0
    # Threads; they change no answer.
    workers: int = 1

    def __str__(self) -> str:
        walks = f"of at most {self.length:,} steps (seed {self.seed})"
        if self.number is None:
            return f"random walks {walks}"
        return f"{self.number:,} random walk{'s' * (self.number != 1)} {walks}"


@frozen
class Seen:
    """What walks have covered at the end of a generation."""

    steps: int
    states: int
    outcomes: int
    goals: int
    rows: int

    def is_new(self, before: Seen) -> bool:
        """Is there anything new since then?"""
        more = self.outcomes > before.outcomes or self.goals > before.goals
        return more or self.rows > NEWS * before.rows


@define
class Walker:
    """Walks under way."""

    run: Run
    swarm: Swarm
    asked: Walks
    # At the end of each generation.
    seen: list[Seen] = field(factory=list)

    def go(self) -> str:
        """Goes the walks. Returns why they ended."""
        swarm, asked, size = self.swarm, self.asked, FIRST
        self.seen.append(self._covered())
        while not self._found and not swarm.reason:
            if asked.number is not None:
                size = min(size, asked.number - swarm.done)
            if not size:
                return f"{asked} met nothing wrong"
            swarm.generation(size)
            self.seen.append(self._covered())
            size = min(2 * size, MOST)
            stale = self._stale() if asked.number is None else ""
            if stale:
                return f"{asked} met nothing wrong; {stale}"
        return swarm.reason and f"{swarm.reason} after {swarm.done:,} of {asked}"

    @property
    def _found(self) -> bool:
        return bool(self.swarm.search.findings.wrong)

    def _covered(self) -> Seen:
        s = self.swarm.search
        goals = sum(at is not None for at in s.findings.goals.values())
        rows = sum(s.packed.filled[: s.tables.urgent])
        fired = sum(n > 0 for n in s.fired.values())
        return Seen(self.swarm.steps, s.states, fired, goals, rows)

    def _stale(self) -> str:
        """Why nothing new is to be expected; empty if something is."""
        now = self.seen[-1]
        if len(self.seen) > STILL and self.seen[-STILL].states == now.states:
            return "the last of them met no new state"
        half = next(seen for seen in reversed(self.seen) if seen.steps * 2 <= now.steps)
        if now.steps < PATIENCE or now.is_new(half):
            return ""
        more = now.rows / max(1, half.rows) - 1
        return (
            f"the last {now.steps - half.steps:,} steps of {now.steps:,} brought no new outcome, no"
            f" goal and {more:.1%} more rows of rules"
        )

    def limit(self) -> str:
        """The limit that was reached, or ""."""
        reason = self.run.limit().partition(" in level ")[0].rstrip(",")
        self._report()
        return reason

    def pulse(self) -> None:
        """While rows are filled. Raises `StoppedError` when a limit is reached."""
        self.swarm.reason = self.run.limit(filling=True).partition(" in level ")[0].rstrip(",")
        if self.swarm.reason:
            raise StoppedError
        self._report()

    def _report(self) -> None:
        if self.run.progress:
            s, w = self.swarm.search, self.swarm
            left = 0 if self.asked.number is None else self.asked.number - w.done
            done = s.states, s.transitions, w.done + 1, left
            self.run.progress(Progress(*done, self.run.seconds, resident_bytes(), walks=True))

    # -- what they came to

    def notes(self) -> list[str]:
        """What was covered: outcomes, rows by the file of their rules, and whether new states
        still come.
        """
        s, swarm = self.swarm.search, self.swarm
        files: dict[str, int] = {}
        for table, filled in zip(s.tables.rules, s.packed.filled):
            module = getattr(table.members[0].rule.call, "__module__", None) or "?"
            name = module.rpartition(".")[2]
            files[name] = files.get(name, 0) + filled
        rows = ", ".join(f"{name} {n:,}" for name, n in sorted(files.items()) if n)
        fired = s.fired
        out = [
            f"covered: {sum(n > 0 for n in fired.values())} of {len(fired)} outcomes; rows of"
            f" rules, by file: {rows}"
        ]
        rates = self._rates()
        if rates:
            out.append(
                f"{swarm.done:,} walks, {swarm.steps:,} steps; new states for each step, by tenths"
                f" of the walks: {', '.join(rates)}"
            )
        return out

    def _rates(self) -> list[str]:
        """New states for each step, over ten parts of the walks with about as many steps each."""
        whole, parts = self.seen[-1].steps, [self.seen[0]]
        for seen in self.seen[1:]:
            if seen.steps * TENTHS >= whole * len(parts) and seen.steps > parts[-1].steps:
                parts.append(seen)
        return [f"{(b.states - a.states) / (b.steps - a.steps):.2f}" for a, b in pairwise(parts)]

    def violations(self) -> list[Violation]:
        """What is wrong, each with a path that leads there."""
        s, found = self.swarm.search, []
        for name, _, place, kind in s.findings.in_order():
            path = path_of(s.see, name, shortest(s, name, place, kind), kind)
            found.append(violation(s.see, name, len(path.steps), path))
        return sorted(found, key=lambda v: (v.depth, v.invariant))

    def verdict(self, reason: str) -> Verdict:
        """The answer. `reason`: why they ended, if nothing is wrong."""
        s, swarm = self.swarm.search, self.swarm
        violations = self.violations()
        notes = [*s.notes(self.run.seconds), *self.notes()]
        if violations:
            notes.append(f"met by one of the first {swarm.done:,} of {self.asked}")
            reason = ""
        s.findings.depth = swarm.longest + 1
        per_state = (max(s.peak, s.bytes) + s.bytes_of_values) / s.states
        inside = s.states - s.outside
        return answer(s, reason, violations, inside, self.run.seconds, per_state, notes)


def walk(
    spec: Spec,
    asked: Walks,
    limits: Limits = Limits(),
    progress: Callable[[Progress], None] | None = None,
) -> Verdict:
    """Goes random walks. The verdict is `violated`, with a path, or `unknown`. The same seed gives
    the same answer, whatever the number of workers, unless a limit of time or memory ends the
    walks. Raises `RuleError` for a rule that is at fault.
    """
    began, peak, spare = time.perf_counter(), peak_bytes(), Spare()
    with without_collection(), spare:
        search = Walked(spec)
        try:
            walker = _walker(search, asked, limits, progress, began, peak)
            return walker.verdict(_gone(walker, spare))
        finally:
            search.free()
    return nothing_found(spec, no_room("for the walks"), time.perf_counter() - began)


def _walker(
    search: Walked,
    asked: Walks,
    limits: Limits,
    progress: Callable[[Progress], None] | None,
    began: float,
    peak: int,
) -> Walker:
    """Walks that have not begun."""
    search.divide(asked.workers)
    run = Run(search, limits, progress, None, began, numbers_of(search), Watch(search, peak))
    swarm = Swarm(search, asked.seed, asked.length, lambda: "")
    walker = Walker(run, swarm, asked)
    swarm.limit, search.pulse = walker.limit, walker.pulse
    search.keys = partial(key_of, search)
    run.begin()
    search.log.hold_places()
    first, end = search.open_level(0, search.states)
    if first == end:
        raise search.see.nothing_within()
    return walker


def _gone(walker: Walker, spare: Spare) -> str:
    """Goes the walks to their end: why they ended, if nothing is wrong."""
    swarm, search = walker.swarm, walker.swarm.search
    after = f"after {swarm.done:,} of {walker.asked}"
    with interrupts(walker.run):
        try:
            return walker.go()
        except StoppedError:
            return f"{swarm.reason} after {swarm.done:,} of {walker.asked}"
        except KeyboardInterrupt:
            return f"interrupted {after}"
        except (MemoryError, RuleError) as error:
            spare.give_back()
            if not ran_out(error):
                raise
            search.give_up()
            return f"{no_room(f'for more than {search.states:,} states')} {after}"
