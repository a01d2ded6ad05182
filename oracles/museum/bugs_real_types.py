"""The types of the document that `bugs --real --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import Count


@frozen(kw_only=True)
class ModelPath:
    """The path of the model that was carried out."""

    mutations: Annotated[
        list[Annotated[str, "Id of a mutation."]], "The mutations in which it was found."
    ]
    promise: Annotated[str, "The promise that it breaks."]
    depth: Annotated[Count, "Its steps."]
    key: Annotated[str, "What replays it."]
    link: Annotated[
        str, "What `explore --from` takes to walk it; empty if it is that of several mutations."
    ]
    prose: Annotated[str, "It in sentences."]
    why: Annotated[
        str, "Why it is not that of the bug's mutation alone, in its own scope; empty if it is."
    ]


@frozen(kw_only=True)
class Release:
    """What the old release did."""

    release: Annotated[str, "The release of Kafka."]
    bug: Annotated[str, "Where the bug shows, in one sentence; empty if it does not show."]
    left_at: Annotated[str, "Why the path could not be followed to its end; empty if it was."]
    transcript: Annotated[
        list[Annotated[str, "One request, answer or callback."]],
        "What was seen, line by line, with the step of the path.",
    ]


@frozen(kw_only=True)
class Exhibit:
    """One bug."""

    id: Annotated[str, "Id of the mutation that puts the bug into the model."]
    ticket: Annotated[str, "Where the bug was reported."]
    title: Annotated[str, "What goes wrong, in one line."]
    reproduced: Annotated[
        bool, "Whether the bug shows on the old release and not on the fixed one."
    ]
    path: ModelPath
    old: Release
    fixed: Annotated[Release, "What the fixed release did."]


@frozen(kw_only=True)
class BugsRealDocument:
    """What `groupcheck bugs --real --json` prints: known bugs on real old releases of Kafka."""

    verdict: Annotated[
        Literal["reproduced", "not reproduced"],
        "Whether every bug shows on the old release and not on the fixed one.",
    ]
    exhibits: Annotated[list[Exhibit], "One object for each bug."]
