"""The type of a document says what its JSON is, and gives its schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from attrs import frozen
from jsonschema import Draft202012Validator

from groupcheck.oracles.show.json_schemas import ABSENT, Also, Count, described, document, schema_of


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
