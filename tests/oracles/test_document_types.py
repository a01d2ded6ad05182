"""The type of a document says what its JSON is, and gives its schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from attrs import field, frozen
from jsonschema import Draft202012Validator

from groupcheck.model.protocol.classic.features.full_offsets.scope import FullOffsetsScope
from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.oracles.conform.conform_diff_types import ConformDiffDocument
from groupcheck.oracles.conform.shown import scope_shown
from groupcheck.oracles.replay import replay_types
from groupcheck.oracles.replay.document import member_document
from groupcheck.oracles.replay.member_types import ClientLife
from groupcheck.oracles.show.json_schemas import (
    ABSENT,
    BESIDE,
    Also,
    Count,
    described,
    document,
    printed,
    schema_of,
)
from groupcheck.traces.story.member import Member

# What `Timeline` writes into `Member.gone`.
HOW_MEMBERS_GO = "left expired not_rejoined not_synced never_joined replaced away gone".split()


@frozen(kw_only=True)
class Move:
    """A partition that
    changes hands.
    """

    from_: Annotated[str, "The member that had it."]
    to: Annotated[str | None, "The member that gets it; null for none."]


@frozen(kw_only=True)
class Moves:
    """All moves."""

    moves: Annotated[list[Move], "The moves."]
    last: Move | None
    seed: Annotated[int, "Only of a random run."] = ABSENT


@frozen(kw_only=True)
class Round:
    """What a round moves, and what each side makes of it."""

    move: Move = field(metadata=BESIDE)
    sides: Annotated[dict[str, int], "Side -> its figure."] = field(metadata=BESIDE)
    number: Count


FIRST = Move(from_="a", to=None)


def test_a_field_that_is_absent_is_not_printed_and_an_underscore_at_the_end_is_not_part_of_a_name():
    plain = {"from": "a", "to": None}
    assert document("groupcheck.moves/3", Moves(moves=[FIRST], last=None)) == {
        "schema": "groupcheck.moves/3", "moves": [plain], "last": None,
    }  # fmt: skip
    assert document("groupcheck.moves/3", Moves(moves=[], last=FIRST, seed=0)) == {
        "schema": "groupcheck.moves/3", "moves": [], "last": plain, "seed": 0,
    }  # fmt: skip


def test_the_schema_takes_what_is_printed_and_its_number_from_the_title():
    moves = described("groupcheck.moves/3", Moves)
    assert (moves.name, moves.version) == ("moves", 3)
    assert moves.schema["$id"] == "urn:groupcheck:moves:3"
    assert moves.schema["required"] == ["schema", "moves", "last"]
    assert moves.schema["properties"]["last"]["description"] == "A partition that changes hands."
    judge = Draft202012Validator(moves.schema)
    for value in (Moves(moves=[FIRST], last=None), Moves(moves=[], last=FIRST, seed=0)):
        judge.validate(document(moves.title, value))
    assert not judge.is_valid({**document(moves.title, Moves(moves=[], last=None)), "extra": 1})
    assert not judge.is_valid(document("groupcheck.moves/2", Moves(moves=[], last=None)))


def test_what_stands_beside_other_fields_is_printed_and_described_among_them():
    told = document("groupcheck.round/1", Round(number=3, move=FIRST, sides={"ours": 1}))
    assert list(told.items()) == [
        ("schema", "groupcheck.round/1"), ("from", "a"), ("to", None), ("ours", 1), ("number", 3),
    ]  # fmt: skip
    schema = described("groupcheck.round/1", Round).schema
    assert schema["required"] == ["schema", "from", "to", "number"]
    assert schema["properties"]["from"] == schema_of(Move)["properties"]["from"]
    judge = Draft202012Validator(schema)
    judge.validate(told)
    assert not judge.is_valid({**told, "theirs": "no figure"})
    assert not judge.is_valid({name: value for name, value in told.items() if name != "to"})


@pytest.mark.parametrize("how", [*HOW_MEMBERS_GO, ""])
def test_however_a_member_goes_the_schema_knows_it(how: str):
    member = printed(member_document(Member("consumer-1-0", gone=how), ClientLife()))
    assert member["gone"] == (how or None)
    Draft202012Validator(schema_of(replay_types.Member)).validate(member)


@pytest.mark.parametrize(
    ("scope", "field"),
    [
        (Scope(members=1, commit_style="sync"), "commit_style"),
        (FullOffsetsScope(members=1), "commits"),
    ],
)
def test_a_difference_of_versions_takes_every_field_that_bounds_rows(scope: Scope, field: str):
    shown = printed(scope_shown(scope, ()))
    assert field in shown
    diff = described("groupcheck.conform-diff/1", ConformDiffDocument).schema
    Draft202012Validator(diff["properties"]["scope"]).validate(shown)


@pytest.mark.parametrize(
    ("shape", "schema"),
    [
        (Annotated[Count, "Rows."], {"type": "integer", "minimum": 0, "description": "Rows."}),
        (Count | None, {"type": ["integer", "null"], "minimum": 0}),
        (float | str, {"type": ["number", "string"]}),
        (Literal["a"], {"const": "a"}),
        (Literal["a", "b"] | None, {"enum": ["a", "b", None]}),
        (Literal["a"] | None, {"enum": ["a", None]}),
        (dict[str, Any], {"type": "object"}),
        (dict[str, bool], {"type": "object", "additionalProperties": {"type": "boolean"}}),
        (Annotated[list[str], Also(minItems=1)],
         {"type": "array", "items": {"type": "string"}, "minItems": 1}),
        (tuple[str, int], {"type": "array", "items": False, "minItems": 2,
                           "prefixItems": [{"type": "string"}, {"type": "integer"}]}),
        (Literal["all"] | list[str],
         {"anyOf": [{"const": "all"}, {"type": "array", "items": {"type": "string"}}]}),
    ],
)  # fmt: skip
def test_each_shape_has_its_schema(shape: Any, schema: dict[str, Any]):
    assert schema_of(shape) == schema
