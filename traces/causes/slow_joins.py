"""Facts about rounds: members that join late, groups that never settle, and who got how much."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from groupcheck.traces.causes.group_evidence import GroupEvidence
from groupcheck.traces.clients.statement import Statement, fact, ms_between

ROUND_LIMITS = ((10_000, 8), (60_000, 15), (600_000, 30), (3_600_000, 60))
"""A group that goes through so many generations in so many ms does not settle. A rollout of many
members, one after the other, can take some rounds in each minute, and each member that joins a
cooperative group takes two.
"""
HEARD, HELD_MS = 3, 5_000
"""A member that is told so often, and for so long, that the group rebalances, joins late."""
# What shows that the poll loop goes on, or explains why it does not have to.
_MOVES = {
    "joining", "joined", "synced", "assigned", "revoked", "lost", "id_given", "started", "closed",
    "left", "poll_expired", "generation_reset", "member_unknown", "session_timed_out",
}  # fmt: skip
_SHARE = re.compile(r"(?P<member>[^\s{},=]+)=Assignment\(partitions=\[(?P<partitions>[^\]]*)\]")
_AFTER = ("joining", "rejoin_requested", "revoked", "lost")


def late_joins(group: GroupEvidence) -> Iterator[Statement]:
    """Members whose heartbeats learn again and again that the group rebalances, and that do not
    join: their poll loop is busy. A member that waits for the answer to its JoinGroup is not told.
    """
    for some in group.of_each_process():
        heard: list[Statement] = []
        for said in some:
            if said.kind == "rebalancing" and said.fields.get("api") == "Heartbeat":
                heard.append(said)
            elif said.kind in _MOVES:
                yield from _late(heard, said)
                heard = []
        yield from _late(heard, None)


def _late(heard: list[Statement], joined: Statement | None) -> Iterator[Statement]:
    apart = [s for a, s in pairwise(heard) if (ms_between(a, s) or 0) >= 500]
    if len(apart) + 1 < HEARD:
        return
    held = ms_between(heard[0], joined or heard[-1]) or 0
    if held >= HELD_MS:
        end = "yes" if joined is not None and joined.kind == "joining" else None
        yield fact(heard[-1], "rejoin_late", heard=len(apart) + 1, held=held, joined=end)


def repeated_rounds(group: GroupEvidence) -> Iterator[Statement]:
    """Members that go through generations faster than any deployment does."""
    for some in group.of_each_process("joined"):
        rounds = _generations(some)
        best: Statement | None = None
        for span, least in ROUND_LIMITS:
            begin = 0
            for at, (said, generation) in enumerate(rounds):
                while (ms_between(rounds[begin][0], said) or 0) > span:
                    begin += 1
                first, number = rounds[begin]
                took = ms_between(first, said)
                if generation - number >= least and at > begin and took is not None:
                    best = fact(
                        said,
                        "rounds_repeat",
                        first=number,
                        generation=generation,
                        repeats=generation - number,
                        span=max(took, 1),
                        long="yes" if generation > 1_000 * (generation - number) else None,
                    )
            if best is not None:
                yield best
                break


def _generations(joined: list[Statement]) -> list[tuple[Statement, int]]:
    """The first line of each generation, in order; a generation that goes back begins anew."""
    out: list[tuple[Statement, int]] = []
    for said in joined:
        generation = said.fields.get("generation")
        if not isinstance(generation, int) or said.time is None:
            continue
        if out and generation < out[-1][1]:
            out = []
        if not out or generation > out[-1][1]:
            out.append((said, generation))
    return out


def shares(group: GroupEvidence) -> Iterator[Statement]:
    """How the leader of the last round shared the partitions out, if no other round follows."""
    plans = [s for s in group.all("leading") if "Assignment(" in str(s.fields.get("assignment"))]
    if not plans or any(s.line > plans[-1].line for s in group.all(*_AFTER)):
        return
    plan = plans[-1]
    found = _SHARE.findall(str(plan.fields["assignment"]))
    counts = {member: len([p for p in some.split(",") if p.strip()]) for member, some in found}
    total = sum(counts.values())
    if not counts:
        return
    if total == 0:
        yield fact(plan, "nothing_assigned", members=len(counts))
    elif len(counts) > total:
        idle = [member for member, count in counts.items() if count == 0]
        yield fact(
            plan,
            "members_idle",
            idle=len(idle),
            members=len(counts),
            partitions=total,
            one=idle[0],
            others="yes" if len(idle) > 1 else None,
        )
    elif max(counts.values()) - min(counts.values()) >= 2:
        least, most = min(counts, key=lambda m: counts[m]), max(counts, key=lambda m: counts[m])
        yield fact(
            plan,
            "shares_uneven",
            members=len(counts),
            partitions=total,
            most=counts[most],
            least=counts[least],
            rich=most,
            poor=least,
        )


def missed_rounds(group: GroupEvidence) -> Iterator[Statement]:
    """Members that were told of a rebalance, did not join, and were unknown at last. `seen`: the
    log would show a join; `alive`: the member says other things meanwhile.
    """
    for some in group.of_each_process():
        seen = "yes" if any(s.kind in ("joined", "joining", "assigned") for s in some) else None
        heard: Statement | None = None
        between = 0
        for said in some:
            if said.kind == "rebalancing":
                heard, between = heard or said, between + 1
            elif said.kind in _MOVES:
                held = (ms_between(heard, said) or 0) if heard else 0
                if said.kind == "member_unknown" and held >= HELD_MS:
                    alive = "yes" if between > 1 else None
                    yield fact(said, "round_missed", held=held, seen=seen, alive=alive)
                heard, between = None, 0
            elif heard and (ms_between(heard, said) or 0) >= 1_000:
                between += 1


JOINS = (late_joins, missed_rounds, repeated_rounds, shares)
