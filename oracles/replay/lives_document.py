"""The facts that the lives of members show, as the document has it: how many lines are steps of the
model's member, memberships that ended without the member's doing, and causes that are ruled out.
"""

from __future__ import annotations

from groupcheck.oracles.replay import replay_types
from groupcheck.oracles.replay.lives import api_name, process_name
from groupcheck.traces.both.removals import Removal
from groupcheck.traces.causes.diagnosis import RefutedCause
from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.lines.timestamps import show_time
from groupcheck.traces.members.clocks import Skew
from groupcheck.traces.members.life import Lapse
from groupcheck.traces.members.members import GroupMembers


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
