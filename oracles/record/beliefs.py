"""The beliefs of the programs, from their own events: which partitions each believed that it owned
and when, which beliefs overlap, and what was read twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

Event = Mapping[str, Any]
Owned = tuple[str, int, int, str]  # partition, from, to, how it ended
Consumed = tuple[str, int, int, int, int]  # partition, first and last offset, from, to


def owned(run: str, events: Iterable[Event], actions: Iterable[Event], to_ms: int) -> list[Owned]:
    """The partitions that a program believed it owned, each until the program was told otherwise or
    died, or the recording ended at `to_ms`; in order of time.
    """
    since: dict[str, int] = {}
    found: list[Owned] = []
    for event in events:
        if "own" not in event:
            continue
        now = set(event["own"])
        found += [
            (name, since.pop(name), event["t"], event["ev"]) for name in sorted(set(since) - now)
        ]
        since |= dict.fromkeys(now - set(since), event["t"])
    deaths = [
        (a["t"], a["do"])
        for a in actions
        if a["who"] == run and a["do"] in ("SIGKILL", "ended", "hung in close, SIGKILL")
    ]
    end, how = min(deaths, default=(to_ms, "end of recording"))
    how = "killed" if "SIGKILL" in how else how
    found += [(name, begun, end, how) for name, begun in since.items()]
    return sorted(found, key=lambda o: (o[1], o[0]))


def frozen_times(run: str, actions: Iterable[Event], to_ms: int) -> list[tuple[int, int]]:
    """When a process stood still, in order."""
    found: list[tuple[int, int]] = []
    since: int | None = None
    for action in actions:
        if action["who"] != run:
            continue
        if action["do"] == "SIGSTOP":
            since = action["t"]
        elif since is not None and action["do"] in ("SIGCONT", "SIGKILL"):
            found.append((since, action["t"]))
            since = None
    return found if since is None else [*found, (since, to_ms)]


def consumed(events: Iterable[Event]) -> list[Consumed]:
    """The unbroken runs of records that a program received, in order of their first record."""
    found = [
        (name, *run)
        for event in events
        if event["ev"] == "consumed"
        for name, run in event["runs"].items()
    ]
    return sorted(found, key=lambda c: (c[3], c[0]))


def two_owners(
    spans: Mapping[str, Sequence[Owned]], stopped: Mapping[str, Sequence[tuple[int, int]]]
) -> list[dict[str, Any]]:
    """Each time that two programs believed that they owned one partition, with how long either of
    them stood still meanwhile.
    """
    found = []
    for one, other in combinations(spans, 2):
        for name, begin, end, _ in spans[one]:
            for again, start, stop, _ in spans[other]:
                at, until = max(begin, start), min(end, stop)
                if name != again or at >= until:
                    continue
                earlier, later = (one, other) if begin <= start else (other, one)
                about: dict[str, Any] = {
                    "partition": name,
                    "earlier_owner": earlier,
                    "later_owner": later,
                    "t": at,
                    "until": until,
                    "ms": until - at,
                }
                for role in ("earlier_owner", "later_owner"):
                    still = sum(max(0, min(until, b) - max(at, a)) for a, b in stopped[about[role]])
                    about |= {f"{role}_frozen_ms": still} if still else {}
                found.append(about)
    return sorted(found, key=lambda o: (o["t"], o["partition"]))


def processed_twice(by_run: Mapping[str, Sequence[Consumed]]) -> list[dict[str, Any]]:
    """Offsets that two programs received, or one received twice, as unbroken ranges. `first_by`:
    the program whose run of records began earlier.
    """
    every = [(run, c) for run, runs in by_run.items() for c in runs]
    shared: dict[tuple[str, str, str], set[int]] = {}
    for (one, a), (other, b) in combinations(every, 2):
        low, high = max(a[1], b[1]), min(a[2], b[2])
        if a[0] == b[0] and low <= high:
            pair = (one, other) if a[3] <= b[3] else (other, one)
            shared.setdefault((a[0], *pair), set()).update(range(low, high + 1))
    return [
        {"partition": name, "offsets": list(between), "first_by": first, "again_by": again}
        for (name, first, again), offsets in sorted(shared.items())
        for between in _ranges(sorted(offsets))
    ]


def _ranges(numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
    begin = numbers[0]
    for before, number in zip(numbers, [*numbers[1:], None]):
        if number is None or number != before + 1:
            yield begin, before
            begin = number if number is not None else begin
