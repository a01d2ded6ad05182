"""From what was seen of a broker to the judgement."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

from groupcheck.oracles.conform.row import Asks, Fires, Memory
from groupcheck.oracles.judge.broker import kinds
from groupcheck.oracles.judge.broker.exploring import Judging, aims_at
from groupcheck.oracles.judge.broker.kinds import Kind
from groupcheck.oracles.judge.broker.ledger import ShownDifference
from groupcheck.oracles.judge.broker.profiles import Profile
from groupcheck.oracles.judge.broker.rules import RULES
from groupcheck.oracles.judge.report.verdicts import (
    Judgement,
    NotReached,
    Remark,
    judged,
    with_stand_ins,
)
from groupcheck.traces.messages.apis import APIS

SLOW_S = 0.5  # an answer that is due at once
SLOW_TIMER_S = 1.0
SHOWN = 5


def remark_of(found: ShownDifference, known: Mapping[str, str]) -> Remark:
    """A difference as the report has it. `known`: root or row -> why it is accepted."""
    one = found.difference
    root = root_of(found)
    names = (root, str(one.kind), *one.rules)
    return Remark(
        row=str(one.kind),
        root=root,
        rules=one.rules,
        allowed=one.allowed,
        got=one.got,
        detail=one.detail + (f"; only with {', '.join(found.needs)}" if found.needs else ""),
        profile=found.profile.name,
        acts=found.acts,
        lines=found.lines,
        times=found.times,
        repeated=found.repeated,
        again=found.again,
        is_final=found.is_final,
        known=next((known[name] for name in names if name in known), ""),
    )


def root_of(found: ShownDifference) -> str:
    """What is the same in all rows of one cause: the request, and what came in place of what. What
    the group does with those that wait counts, the phase does not.
    """
    one, last = found.difference, found.acts[-1] if found.acts else None
    if one.got in ("closed", "unreadable") and last is not None:
        return f"{one.kind.name} v{last.version}: {one.got}"
    who = one.kind.about.partition(",")[0]
    return f"{one.kind.name} ({who}): {one.got} in place of {' or '.join(one.allowed)}"


def by_roots(
    some: Iterable[ShownDifference],
) -> tuple[list[ShownDifference], list[ShownDifference]]:
    """The difference with the shortest schedule of each root, and all others."""
    first: dict[str, ShownDifference] = {}
    others = []
    for found in sorted(some, key=lambda one: len(one.acts)):
        if first.setdefault(root_of(found), found) is not found:
            others.append(found)
    return list(first.values()), others


def judgement(
    judging: Judging,
    profiles: Sequence[Profile],
    known: Mapping[str, str],
    title: str,
    seconds: float,
    reason: str = "",
) -> Judgement:
    """What is to be said about the broker."""
    ledger = judging.ledger
    every = with_stand_ins(remark_of(found, known) for found in ledger.found.values())
    passing = [one for one in every if one.passes]
    remarks = [one for one in every if not one.passes]
    lost = [] if reason else list(not_reached(judging, profiles))
    spoken = sorted({name for name, _ in ledger.versions})
    apis = ", ".join(
        f"{name} {_ranges(sorted(v for n, v in ledger.versions if n == name))}"
        for name in spoken
        if name[0].isupper()
    )
    undefined = ", ".join(
        f"{one.name} {_ranges(range(one.newest + 1, spoken.stop))}"
        for key, spoken in sorted(judging.target.announced.items())
        if (one := APIS.get(key)) is not None and spoken.stop > one.newest + 1
    )
    facts = (
        ("schedules", f"{ledger.schedules:,} of {ledger.requests:,} requests, {seconds:.1f} s"),
        (
            "rows",
            f"{len(ledger.rows):,} agree, of {len(ledger.agreed):,} kinds, {len(ledger.finer):,}"
            " with what is answered",
        ),
        ("versions", apis or "none"),
        *([("undefined", f"{undefined} is announced")] if undefined else []),
        *(
            [("late", f"{ledger.late} schedules said nothing: this machine was slow")]
            if ledger.late
            else []
        ),
    )
    return Judgement(
        subject=title,
        rules=judged(RULES, ledger.tried, remarks),
        remarks=tuple(remarks),
        not_reached=tuple(lost),
        facts=facts,
        slow=tuple(_slow(judging)),
        reason=reason,
        seconds=seconds,
        passing=tuple(f"{one.row}: {one.got} ({one.met})" for one in passing),
    )


def _ranges(versions: Sequence[int]) -> str:
    """`0-3, 5`."""
    parts: list[list[int]] = []
    for version in versions:
        if parts and parts[-1][-1] == version - 1:
            parts[-1].append(version)
        else:
            parts.append([version])
    return ", ".join(f"{p[0]}-{p[-1]}" if len(p) > 1 else str(p[0]) for p in parts)


def _slow(judging: Judging) -> Iterator[str]:
    if judging.target.slow:
        yield judging.target.slow
    for name in sorted({name for name, _ in judging.ledger.waited_s}):
        waits = sorted(seconds for one, seconds in judging.ledger.waited_s if one == name)
        if waits[-1] >= SLOW_S:
            middle = waits[len(waits) // 2]
            yield (
                f"the slowest answer to {name} that was due at once came after {waits[-1]:.1f} s,"
                f" the middle one after {middle * 1000:.0f} ms"
            )
    late = sorted(judging.ledger.timers_s, key=lambda one: -one[1])
    if late and late[0][1] >= SLOW_TIMER_S:
        yield f"{late[0][0]} was heard of {late[0][1]:.1f} s after its time"


def toured(judging: Judging, profiles: Sequence[Profile]) -> None:
    """Goes through all rows once, so that `not_reached` finds them computed."""
    deque(not_reached(judging, profiles), maxlen=0)


def not_reached(judging: Judging, profiles: Sequence[Profile]) -> Iterator[NotReached]:
    """The kinds of rows that the model reaches and no schedule did, each with a shortest way. What
    lies only behind rows that differ is among them.
    """
    for profile in profiles:
        rows, seen = judging.rows(profile), set[Kind]()
        start = rows.start()
        came: dict[Memory, tuple[Memory, Asks | Fires] | None] = {start: None}
        level = [start]
        while level and not judging.stopped.is_set():
            further = []
            for memory in level:
                for edge in judging.edges(profile, memory):
                    given, kind = edge.given, edge.kind
                    one = profile.name, kind
                    met = judging.ledger.agreed[one] or judging.ledger.differed[one]
                    if kind not in seen and not met and aims_at(profile, given):
                        yield NotReached(profile.name, str(kind), _way(came, memory, given))
                    seen.add(kind)
                    for after in rows.kept_after(memory, given):
                        if after not in came:
                            came[after] = memory, given
                            further.append(after)
            level = further


def _way(
    came: Mapping[Memory, tuple[Memory, Asks | Fires] | None], at: Memory, last: Asks | Fires
) -> tuple[str, ...]:
    steps, here = [str(kinds.kind_of(at, last))], came[at]
    while here is not None:
        steps.append(str(kinds.kind_of(*here)))
        here = came[here[0]]
    return tuple(reversed(steps))
