"""The frame of a comparison: from what differs to the verdict, the exit code and the report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import frozen
from rich.console import RenderableType
from rich.text import Text

from groupcheck.model.engine import UserError
from groupcheck.oracles.kafka.comparison import Comparison, block, carried_out, first_of, refuse
from groupcheck.oracles.show.text import as_plain


@frozen
class Sides(Comparison):
    """Two sides that say nothing but that they differ, or why nobody knows."""

    schema = "groupcheck.sides/1"

    differs: bool = False
    reason: str = ""

    def content(self) -> dict[str, Any]:
        return {"verdict": self.verdict}

    def title(self) -> str:
        return "one and another"

    def figures(self) -> Text:
        return Text("rows  3")

    def details(self) -> Iterator[RenderableType]:
        many = ["a", "b", "c", "d", "e"] if self.differs else []
        yield from first_of(many, lambda k, one: block(f"{k}. {one}", "how"), "differ")


@pytest.mark.parametrize(
    ("sides", "verdict", "code", "headline"),
    [
        (Sides(), "agrees", 0, "agrees  one and another"),
        (Sides(reason="cut short"), "unknown", 3, "unknown  one and another  cut short"),
        (Sides(True), "differs", 1, "differs  one and another"),
        (Sides(True, "cut short"), "differs", 1, "differs  one and another  cut short"),
    ],
)
def test_a_difference_outweighs_what_is_not_known(
    sides: Sides, verdict: str, code: int, headline: str, capsys: pytest.CaptureFixture[str]
):
    assert carried_out(lambda: sides, None, as_json=True) == code
    assert f'"verdict": "{verdict}"' in capsys.readouterr().out
    assert as_plain(sides.view()).startswith(f"{headline}\n  rows  3\n")


def test_a_report_tells_the_first_differences_and_counts_the_others():
    shown = as_plain(Sides(True).view())
    assert "\n\n3. c\n   how\n\n2 more differ\n" in shown and "4. d" not in shown


def test_an_option_that_a_kind_does_not_take_is_named_as_on_the_command_line():
    given = {"max_rows": None, "faults": {"crash": 1}, "seed": 0}
    refuse(given, ["max_rows", "seed"], "is not for this")
    with pytest.raises(UserError, match="--fault: is not for this"):
        refuse(given, ["seed", "faults"], "is not for this")
