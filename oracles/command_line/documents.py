"""Every document that a command prints or reads as JSON, with the type that its JSON Schema is made
from. docs/generate writes the reference from these schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from groupcheck.model.engine import UserError
from groupcheck.model.engine.fast.cache import REMEDY, cache_directory
from groupcheck.oracles.archive.archive_types import ArchiveDocument
from groupcheck.oracles.assignment.against.against_types import AgainstDocument
from groupcheck.oracles.assignment.conform.conform_assignors_types import ConformAssignorsDocument
from groupcheck.oracles.assignment.judge.assign_types import (
    AssignDocument,
    AssignLineDocument,
    AssignSequenceDocument,
)
from groupcheck.oracles.assignment.prove.prove_types import ProveDocument
from groupcheck.oracles.check.bugs_types import Bug
from groupcheck.oracles.command_line.list_types import Entry
from groupcheck.oracles.conform.conform_diff_types import ConformDiffDocument
from groupcheck.oracles.conform.conform_types import ConformDocument
from groupcheck.oracles.connect.conform_connect_types import ConformConnectDocument
from groupcheck.oracles.connect.played_types import ConnectRoundsDocument
from groupcheck.oracles.consumer.conform_consumer_types import ConformConsumerDocument
from groupcheck.oracles.coordinator.served_types import ServedLine
from groupcheck.oracles.generate.generate_types import GenerateDocument
from groupcheck.oracles.judge.live.conform_live_types import ConformLiveDocument
from groupcheck.oracles.judge.report.judge_types import AgainDocument, JudgeDocument
from groupcheck.oracles.museum.bugs_real_types import BugsRealDocument
from groupcheck.oracles.printable import as_text
from groupcheck.oracles.record.record_types import RecordDocument
from groupcheck.oracles.replay.follow.follow_types import FollowLine
from groupcheck.oracles.replay.replay_types import ReplayDocument
from groupcheck.oracles.replay.what_if.what_if_types import WhatIfDocument
from groupcheck.oracles.show.event_types import EventLine
from groupcheck.oracles.show.files import write
from groupcheck.oracles.show.json_schemas import Also, DocumentSchema, Schema, described
from groupcheck.oracles.show.offsets_partition import OffsetsPartitionDocument
from groupcheck.oracles.show.terminal import say
from groupcheck.oracles.show.verdict_types import PathDocument, VerdictDocument
from groupcheck.oracles.simulate.simulate_types import SimulateDocument
from groupcheck.oracles.simulate.uses.advise_types import AdviseDocument
from groupcheck.oracles.simulate.uses.curve_types import CurveDocument
from groupcheck.oracles.sweep.sweep_types import SweepDocument
from groupcheck.traces.event_lines.event import NEEDED


def _owes(field: str, values: list[str], others: list[str]) -> Schema:
    """An object whose `field` is one of `values` has the `others`, too."""
    chosen = {"properties": {field: {"enum": values}}, "required": [field]}
    return {"if": chosen, "then": {"required": others}}


DOCUMENTS: dict[str, Any] = {
    "groupcheck.advise/1": AdviseDocument,
    "groupcheck.again/1": AgainDocument,
    "groupcheck.against/1": AgainstDocument,
    "groupcheck.archive/1": ArchiveDocument,
    "groupcheck.assign-line/1": AssignLineDocument,
    "groupcheck.assign-sequence/1": AssignSequenceDocument,
    "groupcheck.assign/1": AssignDocument,
    "groupcheck.bugs-real/1": BugsRealDocument,
    "groupcheck.bugs": Annotated[
        list[Bug],
        "What `groupcheck bugs --json` prints: an array with one object for each known bug.",
    ],
    "groupcheck.conform-assignors/1": ConformAssignorsDocument,
    "groupcheck.conform-connect/1": ConformConnectDocument,
    "groupcheck.conform-consumer/1": ConformConsumerDocument,
    "groupcheck.conform-diff/1": ConformDiffDocument,
    "groupcheck.conform-live/1": ConformLiveDocument,
    "groupcheck.conform/1": Annotated[
        ConformDocument,
        Also(
            allOf=[
                _owes("side", ["whole"], ["not_executed", "steps", "fired", "promises", "drawn"]),
                _owes(
                    "side",
                    ["coordinator", "member"],
                    "toured unrealizable_reasons memories executed_from outcomes unseen excuses"
                    " commands causes".split(),
                ),
            ]
        ),
    ],
    "groupcheck.connect-rounds/1": ConnectRoundsDocument,
    "groupcheck.curve/1": CurveDocument,
    "groupcheck.event/1": Annotated[
        EventLine,
        Also(allOf=[_owes("event", [name], [*fields]) for name, fields in NEEDED.items()]),
    ],
    "groupcheck.follow/1": Annotated[
        FollowLine,
        Also(
            allOf=[
                _owes(
                    "event",
                    ["health"],
                    "group health before reason causes facts lines left_out file line".split(),
                ),
                _owes("event", ["log"], ["file", "reason"]),
                _owes("event", ["end"], "health reason lines groups forgotten exit_code".split()),
            ]
        ),
    ],
    "groupcheck.generate/1": GenerateDocument,
    "groupcheck.judge/1": JudgeDocument,
    "groupcheck.list": Annotated[
        list[Annotated[Entry, Also(anyOf=[{"required": ["name"]}, {"required": ["id"]}])]],
        "What `groupcheck list KIND --json` prints: an array with one object for each entry."
        " Which fields an entry has depends on the kind.",
    ],
    "groupcheck.offsets-partition/1": OffsetsPartitionDocument,
    "groupcheck.path/1": PathDocument,
    "groupcheck.prove/1": ProveDocument,
    "groupcheck.record/1": RecordDocument,
    "groupcheck.replay/2": ReplayDocument,
    "groupcheck.served/1": ServedLine,
    "groupcheck.simulate/1": SimulateDocument,
    "groupcheck.sweep/1": SweepDocument,
    "groupcheck.verdict/2": VerdictDocument,
    "groupcheck.what-if/1": WhatIfDocument,
}


def documents() -> Iterator[DocumentSchema]:
    """Every document with its schema, in the order of their names."""
    for title, document in DOCUMENTS.items():
        yield described(title, document)


def schema_files(every: Sequence[DocumentSchema]) -> dict[str, str]:
    """Name of each document -> the file with its JSON Schema, written now. Where the cache folder
    takes no files there are none, and stderr says why.
    """
    try:
        folder = cache_directory() / "schemas"
        folder.mkdir(exist_ok=True)
        files = {one.name: folder / f"{one.name}-{one.version}.json" for one in every}
        for one in every:
            write(files[one.name], as_text(one.schema))
    except (UserError, OSError) as error:
        why = error.what if isinstance(error, UserError) else error
        say(f"no JSON Schema is written: {why} ({REMEDY})")
        return {}
    return {name: str(file) for name, file in files.items()}
