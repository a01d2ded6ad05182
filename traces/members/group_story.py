"""The story of a group by the logs of its clients: the rebalances and members that a coordinator's
log would show, as far as the members saw them, in the same words (`Timeline`).

A member learns of a rebalance late, and of others nothing; but the leader's log names all members.
So what one log cannot tell, several together do. Nothing is guessed: a cause that no log tells is
`not_told`.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from attrs import Factory, define, frozen

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.clients.who import BROKER, TOOL
from groupcheck.traces.members.handed_over import hand_over
from groupcheck.traces.members.member_round import MemberRound
from groupcheck.traces.members.standing import Standing
from groupcheck.traces.members.story import UNTOLD, MemberStory
from groupcheck.traces.story.events import RebalanceCause
from groupcheck.traces.story.member import Member, client_of
from groupcheck.traces.story.moments import Moment, Round
from groupcheck.traces.story.timeline import Timeline

MOST_STORIES = 10_000
_OF_BROKERS = {"replicas_missing", "replicas_shrunk", "disk_failed", "cleaner_died", "took"}
"""Lines that no member writes, though the same log may hold them."""
NEVER = (1 << 62, 0)
SOON_MS = 10_000
"""The first rebalance of the logs is that of a member which left so much earlier at most: each
leave begins one, which others learn of with their next heartbeat.
"""
ANSWERED_WITHIN_MS = 1_000
"""Answers that are sent at once reach members by their clocks within this time."""
Told = tuple[MemberStory, MemberRound]
Leave = tuple[tuple[int, int], str, str]
"""When a member left, its id, and why."""


@frozen
class GroupStory:
    """What the clients of one group tell."""

    members: tuple[MemberStory, ...] = ()
    timeline: Timeline = Factory(Timeline)
    # Generation -> the rebalance to it, as each member saw it.
    rounds: dict[int, list[Told]] = Factory(dict)

    def standing(self) -> list[Standing]:
        """The members that wait when their logs end."""
        found = (m.standing() for m in self.members)
        return [s for s in found if s is not None]

    @property
    def told(self) -> bool:
        return bool(self.members)


@define
class Stories:
    """The stories of all members. Statements are added in the order of each log."""

    # (log, process, client) -> its stories: one that names no client has one for each group.
    _each: dict[tuple[str, str, str], list[MemberStory]] = Factory(dict)
    # (log, process) -> the clients that its lines name.
    _clients: dict[tuple[str, str], set[str]] = Factory(dict)
    _count: int = 0
    # Log -> the last of its lines about groups that is not understood.
    not_understood: dict[str, int] = Factory(dict)

    def add(self, said: Statement, group: str) -> None:
        """`group`: the one that its writer belongs to."""
        if said.library in (BROKER, TOOL) or said.fields.get("of") == "producer":
            return
        if said.kind in _OF_BROKERS or said.kind.startswith("broker_"):
            return
        found = self._of(said, group)
        if found is not None:
            found.add(said)

    def _of(self, said: Statement, group: str) -> MemberStory | None:
        place = said.log, said.process
        known = self._clients.setdefault(place, set())
        client = said.client
        if client and client not in known:
            known.add(client)
            nameless = self._each.get((*place, ""), []) if len(known) == 1 else []
            if nameless and all(_may_write(story, said) for story in nameless):
                self._each[*place, client] = self._each.pop((*place, ""))
        elif not client and len(known) == 1:
            (only,) = known
            own = self._each.get((*place, only), [])
            client = only if all(_may_write(story, said) for story in own) else ""
        mine = self._each.setdefault((*place, client), [])
        for story in mine:
            if not group or story.group in ("", group):
                return story
        if self._count >= MOST_STORIES:
            return None
        self._count += 1
        mine.append(MemberStory(*place, group))
        return mine[-1]

    def of_groups(self) -> dict[str, list[MemberStory]]:
        """The stories by group."""
        out: dict[str, list[MemberStory]] = {}
        for some in self._each.values():
            for story in some:
                story.unread = self.not_understood.get(story.log, 0)
                out.setdefault(story.group, []).append(story)
        return out


def _may_write(story: MemberStory, said: Statement) -> bool:
    """May the member of the story have written this line? Each has one library."""
    return not story.library or not said.library or story.library == said.library


def group_story(members: Iterable[MemberStory]) -> GroupStory:
    """The story of a group, by those of its members."""
    some = tuple(m for m in members if m.rounds or m.ends or m.joined or m.holdings.told)
    names = Counter((m.log, m.name) for m in some)
    for m in some:
        m.twin = names[m.log, m.name] > 1
    rounds: dict[int, list[Told]] = {}
    for m in some:
        for r in m.rounds:
            if r.generation is not None:
                rounds.setdefault(r.generation, []).append((m, r))
    out = Timeline()
    known: frozenset[str] = frozenset()
    left = sorted(
        (_when(end.at), id or m.name, end.reason)
        for m in some
        for id, end in m.ends.items()
        if end.how == "left"
    )
    tell = {id(m) for m in some if any(r.synced for r in m.rounds)}  # sarama never does
    newest = max(rounds, default=None)
    for generation in sorted(rounds):
        seen = sorted(rounds[generation], key=lambda t: _when(t[1].begun))
        rounds[generation] = seen
        may_end = generation == newest or not any(id(m) in tell for m, _ in seen)
        known = _add_round(out, generation, seen, left, known, may_end)
    _add_unnumbered(out, some, rounds)
    caused = Counter(id for r in out.rounds for id in {*r.causers})
    for m in some:
        _add_member(out, m, caused)
    out.rounds.sort(key=lambda x: _when(x.started or x.joined_at))
    hand_over(out.rounds, some)
    if len({m.log for m in some}) > 1:
        for x in out.rounds:
            x.started, x.joined_at, x.assigned = map(_nowhere, (x.started, x.joined_at, x.assigned))
    ends = [at for m in some for at in (m.first, m.last) if at is not None]
    out.first = min(ends, key=_when, default=None)
    out.last = max(ends, key=_when, default=None)
    out.rounds_dropped = sum(m.rounds_dropped for m in some)
    return GroupStory(some, out, rounds)


def _add_unnumbered(
    out: Timeline, members: Sequence[MemberStory], rounds: Mapping[int, list[Told]]
) -> None:
    """Adds the rebalances whose generation the log of a member does not name: each that may be one
    that another member has told counts once.
    """
    told: list[tuple[Round, set[int]]] = []
    for x in out.rounds:
        told.append((x, {id(m) for m, _ in rounds.get(x.to_generation or -1, ())}))
    for m in members:
        for r in m.rounds:
            if r.generation is not None:
                continue
            one = _unnumbered(r, out.highest)
            if m.shared:  # what one of them said before is no reason of another
                one.cause, one.causers, one.reason = RebalanceCause.NOT_TOLD, (), ""
            may = ((x, by) for x, by in told if m.shared or id(m) not in by)
            same = (by for x, by in may if _may_be_one(one, x))
            by = next(same, None)
            if by is None:
                _begin(out, one)
                told.append((one, {id(m)}))
            else:
                by.add(id(m))


def _may_be_one(a: Round, b: Round) -> bool:
    """May two members have told the same rebalance? A coordinator answers all its JoinGroups at
    once; where that is not told, the times that they took overlap.
    """
    if a.joined_at is not None and b.joined_at is not None:
        x, y = a.joined_at.time, b.joined_at.time
        return x is not None and y is not None and abs(x - y) <= ANSWERED_WITHIN_MS
    (begun, ended), (since, until) = map(_span, (a, b))
    return begun is not None and since is not None and begun <= until and since <= ended


def _span(r: Round) -> tuple[int | None, int]:
    """From when to when a rebalance took, in ms; None without times."""
    times = [at.time for at in (r.started, r.joined_at, r.assigned) if at and at.time is not None]
    return (min(times), max(times)) if times else (None, 0)


def _unnumbered(r: MemberRound, present: int | None) -> Round:
    """A rebalance whose generation its member's log does not name, or that has not ended."""
    outcome = "assigned" if r.synced else "stabilized" if r.joined else "open"
    return Round(
        r.asked,
        None if r.joined else present,
        cause=r.cause,
        causers=(r.member,) if r.member and r.cause not in UNTOLD else (),
        reason=r.why,
        joined_at=r.joined,
        assigned=r.synced,
        outcome=outcome,
        joined=[r.member] if r.member else [],
    )


def _nowhere(at: Moment | None) -> Moment | None:
    """The moment without its line, which is that of one log among several."""
    return None if at is None else Moment(0, at.time)


def _when(at: Moment | None) -> tuple[int, int]:
    return (0, 0) if at is None else (at.time or 0, at.line)


def _add_round(
    out: Timeline,
    generation: int,
    seen: Sequence[Told],
    left: Sequence[Leave],
    known: frozenset[str],
    may_end: bool,
) -> frozenset[str]:
    """Adds the rebalance to a generation; gives the ids of its members, as far as one log tells.
    `may_end`: it may have ended though no line says so.
    """
    synced = [r.synced for _, r in seen if r.synced is not None]
    first = min(synced, key=_when, default=None)
    late = [t for t in seen[1:] if first and not t[0].modern and _when(t[1].asked) > _when(first)]
    if late:
        out.counts["joined_without_rebalance"] += len(late)
    seen = [t for t in seen if t not in late]
    synced = [r.synced for _, r in seen if r.synced is not None]
    joined = [r.joined for _, r in seen if r.joined is not None]
    leads = [(m, r) for m, r in seen if r.leader and r.leader in (m.member, r.member, "me")]
    ids = next((r.ids for _, r in leads if r.ids), frozenset())
    sizes = [r.size for _, r in seen if r.size]
    began = Round(
        min((r.asked for _, r in seen if r.asked), key=_when, default=None),
        generation - 1,
        generation,
        joined_at=min(joined, key=_when, default=None),
        assigned=max(synced, key=_when, default=None),
        outcome="assigned" if synced else "stabilized" if may_end else "interrupted",
        size=sizes[0] if sizes else None,
        leader=next((r.leader for _, r in seen if r.leader not in ("", "me", "no")), None),
        joined=[r.member for _, r in seen if r.member],
    )
    before = out.rounds[-1] if out.rounds else None
    _explain(began, before, seen, left, (known, ids))
    began.held_up_by, began.waited_for = _held_up(seen, began.size)
    _begin(out, began)
    out.lowest = generation if out.lowest is None else min(out.lowest, generation)
    out.highest = generation if out.highest is None else max(out.highest, generation)
    out.largest = max(out.largest, began.size or 0)
    start = began.started or began.joined_at
    if start is not None and start.time is not None:
        for end, name in ((began.joined_at, "preparing_ms"), (began.assigned, "unstable_ms")):
            if end is not None and end.time is not None:
                setattr(out, name, getattr(out, name) + max(0, end.time - start.time))
    for _, r in late:  # a static member came back with another id
        ids = frozenset(k for k in ids if client_of(k) != client_of(r.member)) | {r.member}
    return ids or known


def _held_up(seen: Sequence[Told], size: int | None) -> tuple[tuple[str, ...], str]:
    """Who was last, and in what; nobody if one member alone is seen, or not all of `size`."""
    if len(seen) < max(2, size or 0):
        return (), ""
    m, r = seen[-1]
    if not m.modern:
        return ((r.member or m.name,), "joined last") if r.asked is not None else ((), "")
    if any(r.synced is None for _, r in seen):
        return (), ""
    m, r = max(seen, key=lambda t: _when(t[1].synced))
    return (r.member or m.name,), "was given its part last"


def _begin(out: Timeline, round: Round) -> None:
    out.rounds.append(round)
    out.causes[round.cause.value] += 1
    out.counts["rebalances"] += 1
    at = round.started or round.joined_at
    if at is not None and at.time is not None:
        out.starts.append(at.time)


def _explain(
    round: Round,
    before: Round | None,
    seen: Sequence[Told],
    left: Sequence[Leave],
    ids: tuple[frozenset[str], frozenset[str]],
) -> None:
    """Why it began: what the first of its members says that has a reason of its own; a member that
    went in between; or who is in the leader's list that was not, or the other way round.
    """
    round.cause = RebalanceCause.NOT_TOLD
    was, now = ids
    here = {id for m, _ in seen for id in m.joined}
    begin, end = (
        bisect(left, at, key=lambda leave: leave[0])
        for at in (_since(round, before), _when(round.joined_at))
    )
    left = left[begin:end]
    for m, r in seen:
        if r.cause not in UNTOLD:
            round.cause, round.reason = r.cause, r.why
            round.causers = (r.member or m.name,) if r.member or m.client else ()
            if m.modern and r.cause != RebalanceCause.JOIN:
                continue
            return
    if round.cause in UNTOLD and left:
        round.cause, round.reason = RebalanceCause.LEAVE, left[0][2]
        round.causers = tuple(id for _, id, _ in left)
    elif round.cause in UNTOLD and was and now and now - was:
        round.cause, round.causers = RebalanceCause.JOIN, tuple(sorted(now - was))
    elif round.cause in UNTOLD and was and now and was - now - here:
        round.cause, round.causers = RebalanceCause.GONE, tuple(sorted(was - now))


def _has_no_id(m: MemberStory) -> bool:
    """Has it left, and asked to join again without an answer that gave it an id?"""
    return m.open is not None and m.open.generation is None and m.open.joined is None


def _since(round: Round, before: Round | None) -> tuple[int, int]:
    """When a member must have left, at the earliest, to have begun the rebalance."""
    if before is None:
        start = round.started or round.joined_at
        known = start is not None and start.time is not None
        return ((start.time or 0) - SOON_MS, 0) if start is not None and known else NEVER
    return NEVER if before.joined_at is None else _when(before.joined_at)


def _add_member(out: Timeline, m: MemberStory, caused: Mapping[str, int]) -> None:
    """Adds each id that the member had. `caused`: how many rebalances each id caused."""
    ids = m.ids
    rounds: dict[str, list[MemberRound]] = {}
    for r in m.rounds:
        rounds.setdefault(r.member, []).append(r)
    for k, id in enumerate(ids):
        mine = rounds.get(id, ())
        known = Member(id, instance=m.instance or None, first_seen=m.joined.get(id, m.first))
        known.joined = m.joined.get(id) if id not in (m.earlier, m.unsure) else None
        known.generations = len(mine)
        known.led = sum(r.leader in (id, "me") for r in mine)
        known.caused = caused.get(id, 0)
        out.counts["joined"] += known.joined is not None
        end = m.ends.get(id)
        if end is not None and (m.gone or k + 1 < len(ids) or _has_no_id(m)):
            known.ended, known.gone, known.client_reason = end.at, end.how, end.reason or None
        elif k + 1 < len(ids) and not (m.shared or m.goes_back):
            known.ended, known.gone = m.joined[ids[k + 1]], "replaced" if m.instance else "gone"
        if known.gone:
            out.counts[known.gone] += 1
        out.members[id] = known
