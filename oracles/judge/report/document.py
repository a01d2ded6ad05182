"""A judgement as a JSON document, and a schedule from a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from groupcheck.model.engine import UserError
from groupcheck.oracles.judge.report import judge_types
from groupcheck.oracles.judge.report.schedules import Act
from groupcheck.oracles.judge.report.verdicts import Judgement, Remark, by_root
from groupcheck.oracles.show.json_schemas import document

SCHEMA = "groupcheck.judge/1"
Kind = Literal["ask", "wait", "look", "move"]
KINDS: tuple[Kind, ...] = ("ask", "wait", "look", "move")
MOST_STEPS = 1000


def as_document(side: Literal["broker", "client"], told: Judgement) -> dict[str, Any]:
    """All that `--json` prints."""
    content = judge_types.JudgeDocument(
        side=side,
        subject=told.subject,
        verdict=told.verdict,
        reason=told.reason,
        rules=[
            judge_types.RulePart(
                name=one.rule.name,
                sentence=one.rule.sentence,
                source=one.rule.source,
                verdict=one.became,
                tried=one.tried,
            )
            for one in told.rules
        ],
        differs=[_remark(one) for some in by_root(told.remarks).values() for one in some],
        passing=list(told.passing),
        not_reached=[
            judge_types.NotReachedPart(profile=one.profile, row=one.row, way=list(one.way))
            for one in told.not_reached
        ],
        slow=list(told.slow),
        facts=dict(told.facts),
        seconds=told.seconds,
    )
    return document(SCHEMA, content)


def _remark(one: Remark) -> judge_types.RemarkPart:
    return judge_types.RemarkPart(
        row=one.row,
        root=one.root,
        rules=list(one.rules),
        verdict=one.became,
        allowed=list(one.allowed),
        got=one.got,
        detail=one.detail,
        times=one.times,
        repeated=one.repeated,
        again=one.again,
        stand_in=one.stand_in.row if one.stand_in else "",
        known=one.known,
        schedule=schedule_part(one),
        transcript=[str(line) for line in one.lines],
    )


def schedule_part(one: Remark) -> judge_types.SchedulePart:
    """The schedule of a remark, as `judge again` reads it."""
    return judge_types.SchedulePart(profile=one.profile, steps=[_step(act) for act in one.acts])


def _step(act: Act) -> judge_types.StepPart:
    kind = next((kind for kind in KINDS if kind == act.kind), KINDS[0])
    return judge_types.StepPart(
        kind=kind, name=act.name, member=act.member, version=act.version, fields=dict(act.fields)
    )


def schedules_in(read: Any, where: str) -> list[tuple[str, str, tuple[Act, ...]]]:
    """The schedules of a document: (row, profile, acts) each. It is a document of `judge`, one of
    its entries, or a schedule alone. Raises `UserError` for anything else.
    """
    if isinstance(read, Mapping) and isinstance(read.get("differs"), list):
        return [one for part in read["differs"] for one in schedules_in(part, where)]
    row, found = "", read
    if isinstance(read, Mapping) and "schedule" in read:
        row, found = str(read.get("row", "")), read["schedule"]
    try:
        profile, steps = str(found["profile"]), found["steps"]
        if not isinstance(steps, list) or len(steps) > MOST_STEPS:
            raise ValueError(f"steps is no list of at most {MOST_STEPS}")
        return [(row, profile, tuple(map(_act, steps)))]
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"there is no schedule: {error!r}" if isinstance(error, KeyError) else str(error),
            where=where,
            do="give what `judge broker --json` printed, or one entry of its `differs`",
        ) from None


def _act(step: Any) -> Act:
    fields = step.get("fields", {}) if isinstance(step, Mapping) else None
    if not isinstance(fields, Mapping) or step["kind"] not in KINDS:
        raise ValueError(f"{step!r} is no step")
    numbers = [step.get("member", -1), step.get("version", 0), *fields.values()]
    if any(type(number) is not int for number in numbers):
        raise ValueError(f"{step!r} is no step: its numbers are no whole numbers")
    return Act(
        step["kind"],
        str(step["name"]),
        step.get("member", -1),
        step.get("version", 0),
        tuple((str(name), value) for name, value in fields.items()),
    )
