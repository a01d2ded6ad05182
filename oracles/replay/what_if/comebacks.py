"""Static members that came back under ids that no line tells.

From 3.0 on a broker prints only the old id: `Static member with groupInstanceId=i ... Replacing
previously mapped member OLD with this groupInstanceId.` The new id may show later, when its member
leaves, expires or leads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve

from groupcheck.traces.story.timeline import Member, client_of


def with_returns(members: Iterable[Member]) -> list[Member]:
    """The members, with those that replaced another one: each joined in the line that replaced it,
    under the first new id of its instance that shows later, or else under a name made here.
    """
    known = list(members)
    told = {(m.instance, m.joined.line) for m in known if m.joined is not None}
    replaced = [m for m in known if m.gone == "replaced" and m.ended is not None]
    for old in sorted(replaced, key=lambda m: m.ended.line if m.ended else 0):
        if old.ended is None or (old.instance, old.ended.line) in told:
            continue
        place = _later(known, old)
        if place is None:
            id = f"{old.instance} (since line {old.ended.line})"
            known.append(Member(id, instance=old.instance, joined=old.ended, first_seen=old.ended))
        else:
            known[place] = evolve(known[place], joined=old.ended, instance=old.instance)
    return known


def _later(members: Sequence[Member], old: Member) -> int | None:
    """The place of the first member of the same instance that shows after this one was replaced,
    and of which no line tells how it came.
    """
    since = old.ended.line if old.ended is not None else 0
    found = [
        (m.first_seen.line, k)
        for k, m in enumerate(members)
        if m.joined is None
        and m.handed_out is None
        and m.first_seen is not None
        and m.first_seen.line > since
        and (m.instance or client_of(m.id)) == old.instance
    ]
    return min(found)[1] if found else None
