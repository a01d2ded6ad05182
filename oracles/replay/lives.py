"""The facts that the lives of members show, in sentences: how many lines are steps of the model's
member, and memberships that ended without the member's doing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groupcheck.oracles.replay.rounds import lasted
from groupcheck.traces.both.removals import Removal
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.members.clocks import Process, Skew
from groupcheck.traces.members.life import Lapse
from groupcheck.traces.members.members import GroupMembers
from groupcheck.traces.phrases import plural, some_of

SHOWN = 3


def followed_sentence(found: GroupMembers) -> str:
    """How far the lines of clients fit the model's member; empty if there are none to follow."""
    if not found.members:
        return ""
    whole = (
        f"{plural(found.steps, 'line')} of {plural(found.members, 'member')} are steps of the"
        " model's member"
    )
    if found.shared:
        names = ", ".join(found.shared[:SHOWN])
        some = f"{plural(found.steps, 'line')} of clients are steps of the model's member"
        return f"{some}; several members write as {names}, so nothing more is claimed of them"
    if found.gaps:
        gaps, first = plural(len(found.gaps), "line"), found.gaps[0].line
        return f"{whole}; before {gaps} others are missing (line {first})"
    return whole


def lapse_sentences(found: GroupMembers) -> Iterator[str]:
    """Memberships that ended without the member's doing."""
    for lapse in found.lapses[:SHOWN]:
        yield _lapse(lapse)
    if len(found.lapses) > SHOWN:
        yield f"and {plural(len(found.lapses) - SHOWN, 'membership')} more ended like this"


def _lapse(lapse: Lapse) -> str:
    text = (
        f"{lapse.client} was out of the group when its {api_name(lapse.api)} was refused (line"
        f" {lapse.learnt.line}); it was in generation {lapse.generation} before (line"
        f" {lapse.sure.line})"
    )
    if lapse.partitions:
        held = some_of(lapse.partitions, SHOWN)
        text += f". It held {held} meanwhile, and another member may have read them, too"
        span = _between(lapse.sure, lapse.given_up or lapse.learnt)
        text += f" (for at most {span})" if span else ""
    if lapse.missed > 0:
        some = str(lapse.generation + 1)
        last = lapse.generation + lapse.missed
        which = f"generation {some}" if lapse.missed == 1 else f"generations {some} to {last}"
        text += f". {which[0].upper()}{which[1:]} passed without it, unless lines are missing"
    return text


def api_name(name: str) -> str:
    """OFFSET_COMMIT and OffsetCommit are one."""
    return "".join(w.capitalize() for w in name.split("_")) if name.isupper() else name or "request"


def _between(earlier: Statement, later: Statement) -> str:
    if earlier.time is None or later.time is None or later.time < earlier.time:
        return ""
    return lasted(later.time - earlier.time)


_HOW = {
    "left": "left",
    "expired": "was removed because its session expired",
    "not_rejoined": "was removed because it did not join again in time",
    "not_synced": "was removed because it did not send SyncGroup in time",
    "replaced": "was replaced by another process with its instance id",
}


def removal_sentence(removals: Sequence[Removal]) -> str:
    """How memberships of clients ended by the coordinator's log; empty if it shows no end."""
    told = [
        f"{r.member} {_HOW[r.how]} ({process_name((r.statement.log, ''))} line {r.statement.line})"
        for r in removals[:SHOWN]
    ]
    more = f"; and {len(removals) - SHOWN} more" if len(removals) > SHOWN else ""
    return f"by the coordinator's log, {'; '.join(told)}{more}" if told else ""


def clock_sentences(skews: Sequence[Skew]) -> Iterator[str]:
    """Clocks of clients against those of brokers: those that differ."""
    for skew in [s for s in skews if s.differs][:SHOWN]:
        ahead = skew.ahead
        about = f"{abs(ahead) / 1000:,.3f} s {'ahead of' if ahead > 0 else 'behind'}"
        exact = (skew.at_most - skew.at_least) / 2000
        yield (
            f"the clock of {process_name(skew.process)} is {about} that of"
            f" {process_name(skew.broker)} (± {exact:,.3f} s, from {plural(skew.pairs, 'pair')} of"
            " lines); its times are given by the broker's clock, quoted lines stay as they are"
        )


def process_name(process: Process) -> str:
    return " ".join(filter(None, process)) or "the log"
