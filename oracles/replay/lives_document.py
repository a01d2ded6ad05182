"""The facts that the lives of members show, as the document has it: how many lines are steps of the
model's member, memberships that ended without the member's doing, and causes that are ruled out.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence

from groupcheck.oracles.replay import member_types, replay_types
from groupcheck.oracles.replay.lives import api_name, process_name
from groupcheck.oracles.show.json_schemas import ABSENT
from groupcheck.traces.both.removals import Removal
from groupcheck.traces.causes.diagnosis import RefutedCause
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.members.clocks import Skew
from groupcheck.traces.members.group_story import GroupStory, Told
from groupcheck.traces.members.life import Lapse
from groupcheck.traces.members.member_round import Owned
from groupcheck.traces.members.members import GroupMembers
from groupcheck.traces.members.standing import Standing
from groupcheck.traces.members.story import MemberStory
from groupcheck.traces.story.moments import Moment


def removal_document(r: Removal) -> replay_types.Removal:
    return replay_types.Removal(
        client=r.client,
        member=r.member,
        generation=r.generation,
        how=r.how,
        client_reason=r.reason,
        line=quoted(r.statement),
        learnt=None if r.learnt is None else quoted(r.learnt),
    )


def clock_document(skew: Skew) -> replay_types.Clock:
    return replay_types.Clock(
        process=process_name(skew.process),
        broker=process_name(skew.broker),
        ahead_ms=replay_types.Lead(at_least=skew.at_least, at_most=skew.at_most),
        pairs=skew.pairs,
        below=_proof(*skew.below),
        above=_proof(*skew.above),
    )


def _proof(client: Statement, broker: Statement) -> replay_types.OrderProof:
    return replay_types.OrderProof(client=quoted(client), broker=quoted(broker))


def followed_document(found: GroupMembers) -> replay_types.ClientFit:
    return replay_types.ClientFit(
        members=found.members,
        steps=found.steps,
        gaps=[quoted(said) for said in found.gaps],
        shared_names=list(found.shared),
        lapses=[_lapse(x) for x in found.lapses],
        impossible=[
            replay_types.ImpossibleLine(text=x.text, line=quoted(x.said), against=quoted(x.against))
            for x in found.impossible
        ],
    )


def _lapse(x: Lapse) -> replay_types.Lapse:
    return replay_types.Lapse(
        client=x.client,
        member=x.member,
        generation=x.generation,
        shown=quoted(x.sure),
        refused=quoted(x.learnt),
        request=api_name(x.api),
        partitions=list(x.partitions),
        given_up=None if x.given_up is None else quoted(x.given_up),
        next_generation=x.next_generation,
        missed_generations=x.missed,
    )


def seen_document(told: Sequence[Told] | None) -> list[member_types.ClientRound]:
    """A rebalance as members saw it; ABSENT if no log of a client shows it."""
    some: list[member_types.ClientRound] = [
        member_types.ClientRound(
            client=m.name,
            member=r.member or None,
            file=m.log,
            why=r.why,
            asked=_time(r.asked),
            asked_line=r.asked.line if r.asked else None,
            joined=_time(r.joined),
            joined_line=r.joined.line if r.joined else None,
            synced=_time(r.synced),
            synced_line=r.synced.line if r.synced else None,
            duration_ms=r.took_ms,
        )
        for m, r in told or ()
    ]
    return some or ABSENT


def life_documents(story: GroupStory) -> dict[str, member_types.ClientLife]:
    """What the logs of clients tell about each member, by its id."""
    out: dict[str, member_types.ClientLife] = {}
    for m in story.members:
        for id, life in _lives(m):
            out.setdefault(id, life)
    return out


def _lives(m: MemberStory) -> Iterator[tuple[str, member_types.ClientLife]]:
    """A member under each id that it had."""
    ids, changes = m.ids, m.changes
    generations: dict[str, list[int]] = {}
    for r in m.rounds:
        if r.generation is not None:
            generations.setdefault(r.member, []).append(r.generation)
    owned: dict[str, list[member_types.Ownership]] = {}
    for o in m.owned():
        owned.setdefault(ids[bisect(changes, o.since)], []).append(_owned(o))
    still: Counter[str] = Counter()
    for since, until in m.still():
        still[ids[bisect(changes, since)]] += until - since
    standing = m.standing()
    for id in ids:
        last = id == ids[-1]
        yield (
            id,
            member_types.ClientLife(
                file=m.log,
                generations_seen=generations.get(id, []),
                owned=owned.get(id, []),
                still_ms=still[id],
                commits=m.commits if last else ABSENT,
                commits_refused=m.commits_refused if last else ABSENT,
                standing=_standing(standing) if last and standing is not None else None,
            ),
        )


def _owned(o: Owned) -> member_types.Ownership:
    return member_types.Ownership(
        partition=o.partition,
        generation=o.generation,
        from_=show_time(o.since),
        until=show_time(o.until),
        how=o.how,
    )


def _standing(s: Standing) -> member_types.StandingStep:
    return member_types.StandingStep(
        state=s.in_state,
        waits_for=s.state.waits_for,
        ends=s.state.ends,
        since=None if s.since.time is None else show_time(s.since.time),
        since_line=s.since.line,
        lasted_ms=s.lasted_ms,
        within_ms=s.within_ms,
        setting=s.setting,
        late=s.late,
    )


def _time(at: Moment | None) -> str | None:
    return None if at is None or at.time is None else show_time(at.time)


def refuted_document(r: RefutedCause) -> replay_types.UnfitCause:
    return replay_types.UnfitCause(
        kind=r.cause.kind,
        title=r.cause.title,
        text=r.text,
        proof=quoted(r.by),
        evidence=[quoted(said) for said in r.evidence],
    )


def quoted(said: Statement) -> replay_types.Quoted:
    return replay_types.Quoted(
        file=said.log,
        line=said.line,
        time=None if said.time is None else show_time(said.time),
        text=said.text,
    )
