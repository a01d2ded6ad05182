"""The harm to a group's users and the other findings of its logs, in short sentences: time without
members or owners, offsets that went back, refusals, settings, absences and restarts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from groupcheck.oracles.replay.rounds import lasted, names
from groupcheck.traces.causes.overcome import SERIOUS_MS
from groupcheck.traces.findings.findings import Absence, Findings, Setting, Window
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.phrases import plural

SHOWN = 6
WAITS_MS = 1000
"""A rebalance with which the log ends is worth a word after this time."""
EMPTY_AT_END = "the group has no members when the log ends"
ABSENT = {
    "slow": "was alive but did not join in time",
    "dead": "was not heard of any more under its id",
    "frozen": "was silent and came back with its old id",
}
STOOD = {
    "parked": "its JoinGroup waited for others",
    "silent": "it sent nothing",
    "awaited": "others waited for it",
}
FOLLOWED = {
    "resumed": "the group went on",
    "rebalanced": "the group rebalanced",
    "from_zero": "the group's state was lost",
    "nothing": "no line of the group follows",
}


def harm(found: Findings) -> Iterator[str]:
    """The harm to the application and its records, one sentence for each kind."""
    empty = [e.window for e in found.empty if not e.by_choice]
    if empty:
        over = any(not w.open for w in empty) or any(w.ms for w in empty)
        yield f"the group had no members{_total(empty)}" if over else EMPTY_AT_END
    if found.unowned:
        longest = found.unowned[0]
        partitions = len({u.partition for u in found.unowned})
        most = f", {longest.partition} for {_length(longest.window)}"
        yield f"{plural(partitions, 'partition')} had no owner{most}"
    if found.two_owners:
        some = {two.partition for two in found.two_owners}
        first = max(found.two_owners, key=lambda two: two.until - two.since)
        yield (
            f"{plural(len(some), 'partition')} had two owners at once: {first.partition} was owned"
            f" by {first.earlier} and {first.later} for {lasted(first.until - first.since)}"
        )
    if found.went_back:
        again = sum(back.was - back.committed for back in found.went_back)
        some = {back.partition for back in found.went_back}
        yield f"offsets of {_listed(some)} went back: {plural(again, 'record')} read again"
    if found.jumped:
        yield f"offsets of {_listed({j.partition for j in found.jumped})} jumped ahead"
    refused = sum(r.count for r in found.commits_refused)
    if refused:
        kinds = _listed({r.name or str(r.code) for r in found.commits_refused})
        yield f"{plural(refused, 'commit')} refused ({kinds})"
    left = found.unsettled
    if left is not None and (left.window.ms or 0) >= WAITS_MS:
        waits = f" for {names(left.waits_for, None)}" if left.waits_for else ""
        yield f"the log ends in a rebalance that waits{waits}, after {_length(left.window)}"


def serious(found: Findings) -> bool:
    """Is there more harm than every rebalance does?"""
    long = [u.window for u in found.unowned]
    if found.unsettled is not None:
        long.append(found.unsettled.window)
    return (
        any(e.how and not e.by_choice for e in found.empty)
        or bool(found.two_owners or found.went_back or found.jumped)
        or any((window.ms or 0) >= SERIOUS_MS for window in long)
    )


def weight(found: Findings) -> tuple[int, int]:
    """How much harm there is, to compare groups: partitions whose records were read twice or
    skipped, then the time without members or owners, in ms.
    """
    hurt = {x.partition for x in found.two_owners}
    hurt |= {x.partition for x in found.went_back} | {x.partition for x in found.jumped}
    stood = sum(e.window.ms or 0 for e in found.empty if not e.by_choice)
    unowned = max((u.window.ms or 0 for u in found.unowned), default=0)
    return len(hurt), max(stood, unowned)


def finding_facts(found: Findings) -> Iterator[tuple[str, str]]:
    """The other facts that are known, as (name, text)."""
    for (who, kind), times in _grouped(found.absences):
        again = f" ({len(times)} times)" if len(times) > 1 else ""
        longest = max(times, key=lambda absent: absent.window.ms or 0)
        yield "absent", f"{who} {ABSENT[kind]}{_at(longest.window)}{again}"
    for still in found.standing[:SHOWN]:
        who = still.client or still.member
        yield "stood still", f"{who}: {STOOD[still.why]}{_at(still.window)}"
    for restart in found.restarts[:SHOWN]:
        what = "moved" if restart.what == "moved" else "was away"
        yield "coordinator", f"{what}{_at(restart.window)}; {FOLLOWED[restart.followed]}"
    for refusal in found.refusals[:SHOWN]:
        what = refusal.name or refusal.what.replace("_", " ")
        api = f"{refusal.api} " if refusal.api else ""
        clients = names([*refusal.clients], None)
        by = f": {clients}" if clients else ""
        yield "refusals", f"{api}{what} {plural(refusal.count, 'time')}{by}"
    for name, some in groupby(sorted(found.settings, key=_by_name), key=_by_name):
        yield "setting", f"{name}: {_values(list(some))}"
    for conflict in found.conflicts:
        yield "conflict", conflict.text


def _grouped(some: Sequence[Absence]) -> list[tuple[tuple[str, str], list[Absence]]]:
    """Absences by client and kind, most often first."""
    out: dict[tuple[str, str], list[Absence]] = {}
    for absent in some:
        out.setdefault((absent.client or absent.member, absent.kind), []).append(absent)
    return sorted(out.items(), key=lambda one: -len(one[1]))[:SHOWN]


def _by_name(setting: Setting) -> str:
    return setting.name


def _values(some: Sequence[Setting]) -> str:
    """The values of one setting, each with the clients that have it if there are several."""
    told = []
    for s in some[:SHOWN]:
        about = f"about {s.value_ms} ms (measured)" if s.measured else f"{s.value_ms} ms"
        told.append(f"{about} of {names(s.clients, None)}" if len(some) > 1 else about)
    return ", ".join(told)


def _at(window: Window) -> str:
    """When and how long, as far as the log has times."""
    if window.since is None:
        return f", line {window.line}" if window.line else ""
    length = f", for {_length(window)}" if window.ms != 0 else ""
    return f" at {show_time(window.since)[-12:]}{length}"


def _length(window: Window) -> str:
    if window.ms is None:
        return "a time that the log does not tell"
    return lasted(window.ms) + (" until the log ends" if window.open else "")


def _total(windows: Sequence[Window]) -> str:
    """The whole duration, if there are times."""
    some = [w.ms for w in windows if w.ms is not None]
    times = f" ({len(windows)} times)" if len(windows) > 1 else ""
    return (f" for {lasted(sum(some))}" if some else "") + times


def _listed(some: Iterable[str]) -> str:
    return names(sorted(some), None)
