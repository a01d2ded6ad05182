"""What members and coordinators did, in the order of the lines, told where no cause is sure: an
ordinary step is an answer, too. The words are tables of `steps.toml`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from functools import cache
from importlib.resources import files
from itertools import pairwise

from attrs import define, frozen

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.facts import Fact
from groupcheck.traces.facts.needs import Need, read_tables
from groupcheck.traces.facts.rules import MOST_CHARS, written
from groupcheck.traces.facts.values import same_name
from groupcheck.traces.phrases import plural

STEPS_TOLD, FIRST_TOLD = 7, 4
"""So many are told, and so many of the first where there are more."""
JITTER_MS, HALF_DAY_MS = 1_000, 43_200_000
"""Threads write that much out of order; a time of day that goes back by more is of the next day."""
ONE_OF = "one of the members called "
"""A name that several members have whose lines cannot be told apart."""
NO_TROUBLE = "None of these steps is an error"
_STATES = {"described", "owns", "state_empty", "admin_done", "admin_failed"}
"""A table shows a moment, and a command what somebody asked for: neither is a step of the group."""
_FAILS = re.compile(r"error|exception|fail|timed?.?out|refus|denied|fatal", re.IGNORECASE)


@frozen
class Step:
    """How one kind of step is told."""

    # The statements that are such a step.
    of: tuple[Need, ...]
    # What was done; each part between bars is left out where a field of it is missing. Empty:
    # nothing is told.
    text: str
    # A sentence that is told once.
    note: str = ""
    # The coordinator's line about its group.
    broker: bool = False
    # Kinds of statements about the group that rule this table out.
    without: tuple[str, ...] = ()
    # It may follow from an error that no line tells.
    open: bool = False
    # Where there are too many steps to tell, these are left out first.
    minor: bool = False


@define
class _Told:
    """A step as it is told, with the lines that show it."""

    text: str
    note: str
    broker: bool
    who: dict[str, None]
    lines: list[Statement]
    minor: bool = False

    @property
    def name(self) -> str:
        """Who took it; empty if the lines do not tell."""
        some = len(self.who)
        if some > 1 and self.lines[0].kind == "owns":  # at one moment a partition has one owner
            first, second = list(self.who)[:2]
            several = f"another one of {some} members in each output"
            return f"{first} in one output, {second} in another" if some == 2 else several
        return f"each of {some} members" if some > 1 else next(iter(self.who), "")


@cache
def steps() -> tuple[Step, ...]:
    """The steps that ship with the package."""
    text = (files("groupcheck.traces.facts") / "steps.toml").read_text("utf-8")
    return tuple(read_steps(text, "steps.toml"))


def read_steps(text: str, where: str) -> list[Step]:
    """The steps of one TOML text. Raises `UserError` if they are not as this module says."""
    return read_tables(text, "step", list[Step], "step", where)


def steps_told(
    statements: Sequence[Statement],
    sound: bool,
    own: Sequence[Step] = (),
    shared: Set[str] = frozenset(),
) -> list[Fact]:
    """One fact that tells the steps among the statements about a group, which are in order; none if
    they show none. `sound`: nothing else that they say is trouble. `own` steps are asked first.
    `shared`: names that several members have whose lines cannot be told apart.
    """
    if len({said.log for said in statements}) > 1:
        return []  # lines of several logs have no common order
    statements = in_order(statements)
    kinds = {said.kind for said in statements}
    processes: dict[str, set[str]] = {}
    clients: dict[str, set[str]] = {}
    for said in statements:
        processes.setdefault(_name(said), set()).add(said.process)
        if _name(said) != said.process:
            clients.setdefault(said.process, set()).add(_name(said))

    def name_of(said: Statement) -> str:
        name = _name(said)
        if name and name == said.process and len(only := clients.get(name, set())) == 1:
            (name,) = only  # the one client of that process
        if name in shared:
            return f"{ONE_OF}{name}"
        several = name and said.process and len(processes[name]) > 1
        return f"{name} ({said.process})" if several else name

    told: dict[str, _Told] = {}
    open = False
    for said in statements:
        step = next((s for s in (*own, *steps()) if _is(s, said, kinds)), None)
        if step is None or not step.text:
            continue
        words, open = written(step.text, said.fields), open or step.open
        one = told.setdefault(words, _Told(words, step.note, step.broker, {}, [], step.minor))
        one.lines.append(said)
        if not step.broker and name_of(said):
            one.who[name_of(said)] = None
    if not told:
        return []
    some = list(told.values())
    writers = {name_of(said) for said in statements} - {""}
    notes = dict.fromkeys(one.note.rstrip(".") for one in some if one.note)
    fails = open or any(map(_FAILS.search, told)) or not kinds.isdisjoint(_STATES)
    fine = [NO_TROUBLE] if sound and not fails else []
    text = ". ".join([_sentence(some, len(writers) > 1), *notes, *fine])
    lines = tuple(one.lines[0] for one in some)
    return [Fact("steps", "steps", "", text, {"steps": len(some)}, lines, False, False, 1)]


def _name(said: Statement) -> str:
    """Who took a step; empty if the line does not tell."""
    name = same_name(said)
    return "" if name == said.log else name


def in_order(statements: Sequence[Statement]) -> list[Statement]:
    """The statements as they happened. Exports of logs may begin with the newest line; and one
    client's lines that stand in another order are put into that of their times.
    """
    some = list(statements)
    steps = [b - a for a, b in pairwise(s.time for s in some if s.time is not None) if a and b]
    back = [ms for ms in steps if ms < 0]
    newest_first = len(back) > len(steps) - len(back) - steps.count(0)
    if not back or any(s.time is None for s in some):
        return some
    if newest_first:
        some.reverse()
        return sorted(some, key=lambda s: s.time or 0)
    shuffled = any(-HALF_DAY_MS < ms < -JITTER_MS for ms in back)  # more is midnight
    alone = len({_name(s) for s in some}) == 1
    return sorted(some, key=lambda s: s.time or 0) if shuffled and alone else some


def _is(step: Step, said: Statement, kinds: Set[str]) -> bool:
    fits = any(need.kind == said.kind and need.fits(said) for need in step.of)
    return fits and kinds.isdisjoint(step.without)


def _sentence(told: Sequence[_Told], several: bool) -> str:
    """The steps with their lines; whoever takes them is named where somebody else did before. Of
    `several` clients, a line without a name may be anybody's.
    """
    left_out = len(told) - STEPS_TOLD
    minor = [k for k, one in enumerate(told) if one.minor][-left_out:] if left_out > 0 else []
    shown = [one for k, one in enumerate(told) if k not in minor]
    if len(shown) > STEPS_TOLD:
        shown = [*shown[:FIRST_TOLD], *shown[FIRST_TOLD - STEPS_TOLD :]]
    parts, last = [], ""
    for k, one in enumerate(shown):
        name = one.name or ("a client" if several else last or "a client")
        named = "one of them" if name == last else name[:MOST_CHARS]
        again = name == last and not name.startswith(ONE_OF)
        words = one.text if again or one.broker else f"{named} {one.text}"
        last = last if one.broker else name
        if left_out > 0 and k == FIRST_TOLD:
            words = f"... ({plural(left_out, 'more step')}) {words}"
        more = f", and {plural(len(one.lines) - 1, 'more line')}" if len(one.lines) > 1 else ""
        parts.append(f"{words} (line {one.lines[0].line}{more})")
    return "; ".join(parts)
