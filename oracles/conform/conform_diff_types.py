"""The types of the document that `conform --diff OLD NEW --json` prints."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import frozen

from groupcheck.oracles.conform.conform_types import Scope, Situations
from groupcheck.oracles.show.build_types import Build
from groupcheck.oracles.show.json_schemas import ABSENT, Also, Amount, Count


@frozen(kw_only=True)
class Value:
    """A value."""

    what: Annotated[str, "Where it stands: in an answer, in memory, in a record."]
    old: Annotated[str, "As the older version has it."]
    new: Annotated[str, "As the newer version has it."]


@frozen(kw_only=True)
class Change:
    """A behaviour that differs."""

    after: Annotated[str, "The command after which it shows."]
    differs: Annotated[list[str], "What differs."]
    values: Annotated[
        list[Value], "The values that differ in the first step that differs (of the coordinator)."
    ] = ABSENT
    transcripts: Annotated[
        dict[str, list[str]],
        "Version, as in `versions` -> the shortest schedule as this version executed it, as lines.",
    ]


@frozen(kw_only=True)
class ConformDiffDocument:
    """What `groupcheck conform --diff OLD NEW --json` and `groupcheck conform --jars DIR --json`
    print: what differs between the coordinators of two Kafka versions, or of a release and a
    build; with `--side member` between the members of their Java clients.
    """

    side: Annotated[
        Literal["coordinator", "member"],
        "Whose rows these are: the coordinator's, or the member's (`--side member`).",
    ]
    variant: Annotated[str, "The protocol variant."]
    scope: Scope
    versions: Annotated[
        list[str],
        Also(minItems=2, maxItems=2),
        "The older and the newer version; with `--jars` the release and the build, as `build"
        " VERSION`.",
    ]
    reason: Annotated[str, "Why not every row was executed; otherwise empty."]
    rows: Annotated[Count, "Rows: pairs of the coordinator's or the member's memory and an input."]
    executed: Annotated[Count, "Rows that were executed."]
    schedules: Annotated[Count, "Schedules that were executed on both."]
    schedules_that_differ: Annotated[Count, "Schedules that ended differently."]
    changes: Annotated[list[Change], "One object for each kind of change."]
    build: Build = ABSENT
    situations: Annotated[
        Situations,
        "With `--jars` (of the coordinator): schedules that no row of the model reaches, with"
        " stated expectations, which the release meets.",
    ] = ABSENT
    seconds: Annotated[Amount, "Seconds of wall clock."]
