"""The types of the document that `bugs --json` prints."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from attrs import frozen

from groupcheck.oracles.show.json_schemas import ABSENT, Amount, Count


@frozen(kw_only=True)
class ProgressPromise:
    """The promise about progress that the bug breaks in the end; null if it names none."""

    promise: Annotated[str, "Its name."]
    found: Annotated[bool, "Whether it broke."]
    states: Annotated[Count, "Distinct states of the bug's scope for progress."]


@frozen(kw_only=True)
class RealReleases:
    """The releases of Kafka on which `bugs --real` shows the bug; null if it shows it on none."""

    old: Annotated[str, "One that has the bug."]
    fixed: Annotated[str, "One that has not."]


@frozen(kw_only=True)
class Bug:
    """One known bug."""

    id: Annotated[str, "Id of the mutation that puts the bug in."]
    ticket: Annotated[str, "Where the bug was reported; `seeded` if it was made up."]
    variant: Annotated[str, "The protocol variant."]
    rule: Annotated[str, "The rule that the mutation changes."]
    invariant: Annotated[str, "The invariant that breaks."]
    title: Annotated[str, "The bug in one sentence."]
    scope: Annotated[
        dict[str, Any],
        "Every field of the scope with its value (`groupcheck list scope`). `faults` maps each"
        ' fault to its budget; null is "no limit" or the variant\'s default.',
    ]
    found: Annotated[bool, "Whether the invariant broke."]
    verdict: Annotated[Literal["holds", "violated", "unknown"], "The verdict of the search."]
    broken: Annotated[list[str], "All invariants that broke."]
    states: Annotated[Count, "Distinct states that the search saw."]
    depth: Annotated[Count | None, "Steps to the broken state; null if the bug was not found."]
    key: Annotated[str | None, "Replays the path; null if the bug was not found."]
    prose: Annotated[
        str | None, "The story in sentences, one for each step; null if the bug was not found."
    ]
    versions: Annotated[
        str, "What is known of the versions that have the bug; empty if nothing is."
    ]
    seconds: Annotated[Amount, "How long the search for the broken invariant took."]
    progress: ProgressPromise | None
    real: RealReleases | None
    killed_by: Annotated[
        list[Annotated[str, "The name of a promise."]],
        "With `--score`: every promise that the bug breaks in its scopes.",
    ] = ABSENT
