"""The types of the document that `judge broker --json` and `judge client --json` print, and of the
schedules that `judge again` reads.
"""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Amount, Count

Became = Literal["keeps", "breaks", "unsteady", "not_judged", "known", "informs"]


@frozen(kw_only=True)
class StepPart:
    """One step of a schedule."""

    kind: Annotated[
        Literal["ask", "wait", "look", "move"],
        "A request of a member, a time that passes, a question about the group, or a move against"
        " a client.",
    ]
    name: Annotated[
        str,
        "API of the request or question, or the timer that runs out. Of a move: the steps that"
        " bring its request about, the request, the steps before it is handled, the code of its"
        " answer.",
    ]
    member: Annotated[int, "Number of the member that sends it; -1 for nobody's."]
    version: Annotated[Count, "Version of the request."]
    fields: Annotated[
        dict[str, int],
        "The request as the model has it: `id` is -1 for none and 50 for one that the coordinator"
        " does not know, `generation` is how many generations it is behind, `claimed` is 0 for a"
        " subscription that has changed, `owned` the partitions that it claims, as bits.",
    ]


@frozen(kw_only=True)
class SchedulePart:
    """What is sent and waited for; `judge again` does it once more."""

    profile: Annotated[str, "The kind of group, such as two-step, one-step, static."]
    steps: Annotated[list[StepPart], "The steps, in order."]


@frozen(kw_only=True)
class RemarkPart:
    """A row that differs, with the shortest schedule that shows it."""

    row: Annotated[str, "Phase of the group, request, who sends it."]
    root: Annotated[str, "What is the same in all rows that seem to have one cause."]
    rules: Annotated[list[str], "The rules that it breaks; empty if it only informs."]
    verdict: Annotated[
        Became,
        "`breaks` if it, or its `stand_in`, showed each time that it was tried again, or if nothing"
        " answered any more after it; `informs` if it breaks no rule.",
    ]
    allowed: Annotated[list[str], "What the model allows."]
    got: Annotated[str, "What came."]
    detail: Annotated[str, "How it differs from the most similar thing that is allowed."]
    times: Annotated[Count, "How often it was met."]
    repeated: Annotated[Count, "How often its schedule was tried again."]
    again: Annotated[Count, "How often it showed then."]
    stand_in: Annotated[
        str,
        "If its schedule was not tried again: the row of its root that was, in its place; empty if"
        " there is none.",
    ]
    known: Annotated[str, "Why it is accepted (--known); otherwise empty."]
    schedule: Annotated[
        SchedulePart,
        "The shortest schedule that showed it, as far as there was time to look for one.",
    ]
    transcript: Annotated[list[str], "What was sent and what came, as lines."]


@frozen(kw_only=True)
class RulePart:
    """A promise, and what became of it."""

    name: Annotated[str, "Its name, for --known and for JUnit."]
    sentence: Annotated[str, "What must be true."]
    source: Annotated[str, "Where it is promised."]
    verdict: Annotated[Became, "`not_judged` if nothing tried it."]
    tried: Annotated[Count, "How often it was tried."]


@frozen(kw_only=True)
class NotReachedPart:
    """A row that no schedule came to."""

    profile: Annotated[str, "The kind of group."]
    row: Annotated[str, "Phase of the group, request, who sends it."]
    way: Annotated[list[str], "The model's shortest way there."]


@frozen(kw_only=True)
class JudgeDocument:
    """What `groupcheck judge broker --json` and `groupcheck judge client --json` print."""

    side: Annotated[Literal["broker", "client"], "What was judged."]
    subject: Annotated[str, "Which one."]
    verdict: Annotated[
        Literal["keeps", "breaks", "unknown"],
        "`breaks` if a rule is broken; `unknown` if the run ended early or a rule is unsteady.",
    ]
    reason: Annotated[str, "Why the run ended early; otherwise empty."]
    rules: Annotated[list[RulePart], "The promises."]
    differs: Annotated[
        list[RemarkPart],
        "Rows that differ, root by root, first what showed most often when it was tried again, then"
        " the shortest schedules.",
    ]
    passing: Annotated[
        list[str],
        "What was met and never when it, or a row of its root, was tried again at leisure: the"
        " machine may have been too busy.",
    ]
    not_reached: Annotated[list[NotReachedPart], "Kinds of rows that no schedule came to."]
    slow: Annotated[list[str], "What was slow, in sentences."]
    facts: Annotated[dict[str, str], "Figures of the run, in words."]
    seconds: Annotated[Amount, "Seconds of wall clock."]


@frozen(kw_only=True)
class AgainDocument:
    """What `groupcheck judge again --json` prints: schedules that were carried out once more."""

    subject: Annotated[str, "The broker."]
    verdict: Annotated[
        Literal["keeps", "breaks", "unknown"],
        "`breaks` if the broker differs from the model in a schedule; `unknown` if it does not, and"
        " a schedule could not be carried out to its end.",
    ]
    schedules: Annotated[list[AgainPart], "Each schedule with what came of it."]


@frozen(kw_only=True)
class AgainPart:
    """One schedule."""

    row: Annotated[str, "What it was recorded for; empty if the file does not say."]
    agrees: Annotated[bool, "Whether all that came is allowed by the model."]
    complete: Annotated[
        bool,
        "Whether every step was carried out. Where the broker may choose, such as the next leader,"
        " it may come to where a step has no meaning.",
    ]
    differs: Annotated[list[str], "How it differs; empty if it agrees."]
    transcript: Annotated[list[str], "What was sent and what came, as lines."]
