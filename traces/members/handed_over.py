"""The partitions that members of a consumer group (KIP-848) gave up for others, as their own logs
tell: told when the member began to reconcile, given up when its callback had returned, taken when
the next member had it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from groupcheck.traces.members.member_round import MemberRound, Owned
from groupcheck.traces.members.story import MemberStory
from groupcheck.traces.story.moments import ACKNOWLEDGED, Handover, Moment, Round

Beginnings = Mapping[str, Sequence[tuple[int, str]]]
"""Partition -> (when, member) of each time that a member got it, in order."""


def hand_over(rounds: Sequence[Round], members: Sequence[MemberStory]) -> None:
    """Adds to the rebalances of a group what its members gave up in them."""
    modern = [(m, m.owned()) for m in members if m.modern]
    begins: dict[str, list[tuple[int, str]]] = {}
    for m, owned in modern:
        for o in owned:
            begins.setdefault(o.partition, []).append((o.since, _name(m)))
    for times in begins.values():
        times.sort()
    by_epoch = {x.to_generation: x for x in rounds if x.to_generation is not None}
    for m, owned in modern:
        revoked = sorted((o for o in owned if o.how == "revoked"), key=lambda o: o.until)
        for before, r in pairwise([None, *m.rounds]):
            x = by_epoch.get(-1 if r is None or r.generation is None else r.generation)
            if x is not None and r is not None:
                x.handovers += _given_up(_name(m), before, r, revoked, begins)


def _given_up(
    name: str,
    before: MemberRound | None,
    r: MemberRound,
    revoked: Sequence[Owned],
    begins: Beginnings,
) -> Iterator[Handover]:
    """What a member gave up in a rebalance: after the one before it, until it was told the epoch,
    which answers that it had given all of it up.
    """
    ended = r.joined or r.synced
    if ended is None or ended.time is None:
        return
    last = before.joined if before is not None else None
    since = -1 if last is None or last.time is None else last.time
    for o in revoked[bisect_right(revoked, since, key=lambda o: o.until) :]:
        if o.until > ended.time:
            return
        begun = r.asked.time if r.asked is not None else None
        # None: no line tells when it began.
        told = Moment(0, begun) if begun is not None and begun <= o.until else None
        later = begins[o.partition]
        after = later[bisect_left(later, (o.until, "")) :]
        heir = next(((at, who) for at, who in after if who != name), None)
        yield Handover(
            (o.partition,),
            name,
            told or Moment(0, o.until),
            heir="" if heir is None else heir[1],
            asked=told,
            released=Moment(0, o.until),
            how=ACKNOWLEDGED,
            taken=None if heir is None else Moment(0, heir[0]),
        )


def _name(m: MemberStory) -> str:
    return m.client or m.member or m.name
