"""A judgement of a client, for the report that both sides share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from groupcheck.oracles.judge.client.differences import Kind
from groupcheck.oracles.judge.client.harm import Confirmation
from groupcheck.oracles.judge.client.judging import TIMES, Differing, Outcome, Shortest, Trials
from groupcheck.oracles.judge.client.moves import COOPERATIVE, STATIC, Licence
from groupcheck.oracles.judge.client.rules import RULES
from groupcheck.oracles.judge.client.targets import Target
from groupcheck.oracles.judge.client.transcript import transcript
from groupcheck.oracles.judge.client.ways import coverage, shortest_way, unmet
from groupcheck.oracles.judge.report.schedules import Act
from groupcheck.oracles.judge.report.verdicts import (
    Judgement,
    NotReached,
    Remark,
    Rule,
    judged,
)

MOVE = "move"  # the kind of an act
NO_TIME = "there was no time for it"
BUSY = 0.1  # the part of a run's time that may not count before the report says so


def judgement(
    found: Trials,
    subject: str,
    facts: Iterable[tuple[str, str]] = (),
    harms: Sequence[Confirmation] = (),
    accepted: Mapping[str, str] = {},
    licence: Licence = Licence.DOCUMENTED,
) -> Judgement:
    """All that was found out. `accepted`: rule, row or root -> why the user accepts it. `licence`:
    what was played.
    """
    rules = [Rule(rule.name, rule.words, rule.source) for rule in RULES]
    remarks = [_remark(one, harms, accepted) for one in found.outcomes()]
    remarks += [_row(one, accepted) for one in found.differing.values()]
    made = [played for run in found.runs for played in run.played]
    came = sum(played.hit for played in made)
    numbers = [
        ("moves", f"{len(made)} tried, {came} came about, in {len(found.runs)} runs"),
        ("control", _control(found)),
        ("rows", f"of Kafka's member: {coverage(_kinds(found), licence)}"),
    ]
    if dropped := sum(run.record.dropped for run in found.runs):
        numbers.append(("dropped", f"{dropped:,} events, because a run had too many"))
    if found.cut_short:
        numbers.append(("followed", f"{found.cut_short} of the runs not to the end"))
    whole_s = sum(run.record.clock.real(run.record.end) for run in found.runs)
    lost_s = whole_s - sum(run.record.end for run in found.runs)
    if lost_s > BUSY * whole_s:
        lost = f"{lost_s:.0f} of {whole_s:.0f} s of the runs do not count"
        why = "the machine was busy, so that a client that is late may not be noticed"
        numbers.append(("stalls", f"{lost}: {why}"))
    told = judged(rules, found.occasions, remarks)
    return Judgement(
        subject=subject,
        rules=tuple(told),
        remarks=tuple(remarks),
        not_reached=tuple(_not_reached(found, licence)),
        facts=(*facts, *numbers),
        reason=found.reason,
        seconds=found.seconds,
    )


def _control(found: Trials) -> str:
    if not found.controls:
        return "Kafka's Java client was not asked"
    return f"Kafka's Java client played {len(found.controls)} of the schedules beside it"


def _remark(one: Outcome, harms: Sequence[Confirmation], accepted: Mapping[str, str]) -> Remark:
    rule, case = one.finding.rule, one.case
    played = one.run.before(case.at)
    detail = case.broken
    if one.control:
        detail += f". Kafka's Java client did so, too: {one.control}"
    done = [h for h in harms if h.happened and rule.name in h.rules]
    for harm in done:
        detail += f". On Apache Kafka {harm.kafka}: {harm.words}"
    row = str(one.shortest)
    known = next((accepted[k] for k in (rule.name, rule.words, row) if k in accepted), "")
    return Remark(
        row=row,
        root=rule.words,
        rules=(rule.name,),
        allowed=(rule.words,),
        got=case.broken,
        detail=detail,
        profile=one.shortest.setting.name,
        acts=acts_of(one.shortest),
        lines=transcript(one.run.record, 0.0 if played is None else played.began, case.at + 0.01),
        times=one.finding.times,
        # Fewer tries than are wanted say nothing.
        repeated=one.tried if one.tried >= TIMES else 0,
        again=one.again if one.tried >= TIMES else 0,
        known=known,
        excused=bool(one.control),
        confirmed=bool(done),
    )


def _row(one: Differing, accepted: Mapping[str, str]) -> Remark:
    """A row that differs from Kafka's member; it breaks no rule by itself."""
    first = one.first
    return Remark(
        row=first.row,
        root=first.root,
        rules=(),
        allowed=first.allowed,
        got=first.got,
        detail=f"Kafka's Java member does {' or '.join(first.allowed)} there",
        profile=one.shortest.setting.name,
        acts=acts_of(one.shortest),
        lines=transcript(one.run.record, first.at, first.at + 0.01),
        times=one.times,
        repeated=0,
        again=0,
        known=next((accepted[k] for k in (first.row, first.root) if k in accepted), ""),
    )


def acts_of(shortest: Shortest) -> tuple[Act, ...]:
    """The schedule as acts, which `--again` reads."""
    return () if shortest.move is None else (Act(MOVE, shortest.move.text),)


def _kinds(found: Trials) -> set[Kind]:
    """The kinds of rows of a dynamic, eager member that were met."""
    others = (STATIC.name, COOPERATIVE.name)
    return {kind for setting, kind in found.kinds if setting not in others}


def _not_reached(found: Trials, licence: Licence) -> Iterable[NotReached]:
    """Targets that did not come about, and kinds of rows of the member, with the model's shortest
    way where it has one.
    """
    for target in found.missed:
        yield NotReached(target.setting.name, str(target), shortest_way(target) or _way(target))
    for target in found.no_time:
        yield NotReached(target.setting.name, f"{target}: {NO_TIME}", _way(target))
    for row, way in unmet(_kinds(found), licence):
        yield NotReached("member", row, way)


def _way(target: Target) -> tuple[str, ...]:
    """What was done to bring it about."""
    steps = dict.fromkeys(step.value for step in target.move.first)
    return (*steps, f"{target.move.at} comes")
