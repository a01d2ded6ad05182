"""Who joined, synced and owned what, and until when, as requests tell it."""

from __future__ import annotations

from pathlib import Path

from groupcheck.traces.exchanges import member_spans as stays
from groupcheck.traces.exchanges.member_spans import MemberSpan
from groupcheck.traces.replay import replay_file

DATA = Path(__file__).parents[2] / "data" / "requests"


def kept(name: str) -> list[MemberSpan]:
    groups = replay_file(str(DATA / name)).groups
    return [stay for g in groups if g.requests for stay in g.requests.spans.kept]


def test_a_zombie_owns_its_partitions_until_it_is_refused():
    some = kept("live-zombie.log.gz")
    (refused,) = [s for s in some if s.kind == "refused"]
    zombie = [s for s in some if s.kind == "owns" and s.member == refused.member][-1]
    other = [s for s in some if s.kind == "owns" and set(s.partitions) & set(zombie.partitions)]
    during = [s for s in other if s.member != zombie.member and s.since < (zombie.until or 0)]
    assert zombie.until == refused.since and during


def test_every_stay_ends_after_it_begins_and_nobody_owns_twice_at_once():
    for path in sorted(DATA.glob("*.log.gz")):
        if "kip848" in path.name:
            continue
        by_member: dict[str, list[MemberSpan]] = {}
        for stay in kept(path.name):
            assert stay.until is None or stay.until >= stay.since
            if stay.kind == "owns":
                by_member.setdefault(stay.member, []).append(stay)
        for some in by_member.values():
            ends = [s.until for s in some[:-1]]
            assert None not in ends
            assert all((end or 0) <= s.since for end, s in zip(ends, some[1:], strict=True))


def test_a_cooperative_member_owns_while_it_joins_and_an_eager_one_does_not():
    def overlap(name: str) -> bool:
        some = kept(name)
        return any(
            o.member == j.member and o.since < j.since and (o.until or j.since + 1) > j.since
            for o in some
            if o.kind == "owns"
            for j in some
            if j.kind == "joining"
        )

    assert overlap("live-coop_join_kill.log.gz") and not overlap("live-poll_timeout.log.gz")


def test_what_exceeds_the_limit_is_counted(monkeypatch):
    whole = len(kept("live-zombie.log.gz"))
    monkeypatch.setattr(stays, "SPANS_KEPT", 5)
    (group,) = replay_file(str(DATA / "live-zombie.log.gz")).groups
    assert group.requests is not None
    found = group.requests.spans
    assert (len(found.kept), found.dropped) == (5, whole - 5)
