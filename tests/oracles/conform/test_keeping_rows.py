"""`conform offsets --side member`: a member asks for the committed offset, and goes on where the
answer or auto.offset.reset says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest

from groupcheck.model.engine import evolve
from groupcheck.model.protocol.classic.features.full_offsets.kept import NO_OFFSET
from groupcheck.model.protocol.classic.features.full_offsets.members import fetch_answer
from groupcheck.model.protocol.classic.offsets import fetch_offset
from groupcheck.model.protocol.codes import NONE, UNSTABLE_OFFSET_COMMIT
from groupcheck.model.protocol.transform import own, rebuilt, rewritten
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.keeping_rows import FullOffsetRows, FullOffsetSteps
from groupcheck.oracles.conform.member.member_memory import Does, Input, Memory
from groupcheck.oracles.conform.member.moves import Standing, setup_of
from groupcheck.oracles.conform.member.tour import MemberRow, different
from groupcheck.oracles.kafka.driver import Driver

# It joins and installs its share; nothing was fetched yet.
JOINS = (
    Input(Does.POLL),
    Input(code=79, id=0),
    Input(Does.POLL),
    Input(id=0, generation=1),
    Input(Does.SEND),
    Input(share=1),
    Input(Does.POLL),
)
FOUND = Input(Does.FETCH, offset=1, end=1)
UNSTABLE = Input(Does.FETCH, offset=NO_OFFSET, code=UNSTABLE_OFFSET_COMMIT)
NOTHING = Input(Does.FETCH, offset=NO_OFFSET, end=1)
EMPTY = Input(Does.FETCH, offset=NO_OFFSET, end=0)


def rows_with(reset: str) -> FullOffsetRows:
    (rows,) = rows_of("offsets", 1, None, {"autocommit": "no", "reset": reset})
    assert isinstance(rows, FullOffsetRows)
    return rows


def fetches(rows: FullOffsetRows, given: Input) -> Iterator[MemberRow]:
    """The rows of an OffsetFetch of a member that has joined."""
    memory, standing = rows.start(), Standing(setup_of(rows.scope))
    for one in JOINS:
        (outcome,) = rows.outcomes(memory, one)
        row = MemberRow(memory, one, outcome, standing)
        assert outcome.after is not None
        memory, standing = outcome.after, standing.then(row.probe.row)
    assert given in rows.inputs(memory)
    for outcome in rows.outcomes(memory, given):
        yield MemberRow(memory, given, outcome, standing)


@pytest.mark.parametrize(
    ("reset", "given", "outcome", "position"),
    [
        ("earliest", FOUND, "started", 1),
        ("earliest", UNSTABLE, "unstable", -1),
        ("earliest", NOTHING, "reset", 0),
        ("latest", FOUND, "started", 1),
        ("latest", NOTHING, "reset", 1),
        ("latest", EMPTY, "reset", 0),
        ("none", FOUND, "started", 1),
        ("none", UNSTABLE, "unstable", -1),
        ("none", NOTHING, "stopped", -1),
    ],
)
def test_the_client_goes_on_where_the_model_does(
    reset: str, given: Input, outcome: str, position: int, coordinator: Driver
) -> None:
    (row,) = fetches(rows_with(reset), given)
    assert row.outcome is not None and row.outcome.after is not None
    assert row.outcome.rules == (fetch_offset.name, f"{fetch_answer.name}:{outcome}")
    assert row.outcome.after.client.position == position
    (seen,) = coordinator.run_all([row.probe])
    assert different(rows_with(reset), row, seen) == []


def told(change: Callable[[str, Any], Any]) -> Callable[[FullOffsetRows], FullOffsetRows]:
    """The rows of a model whose `fetch_answer` is wrong."""

    def wrong(rows: FullOffsetRows) -> FullOffsetRows:
        right = own(rows.spec, fetch_answer)

        def call(
            client: Any, link: Any, offsets: Any, txn: Any, scope: Any
        ) -> Iterator[tuple[Any, ...]]:
            for label, after, *others in right.call(client, link, offsets, txn, scope):
                yield label, change(label, after), *others

        changed = rewritten(right, call)
        return FullOffsetRows(rows.spec.scope, rebuilt(rows.spec, [changed]))

    return wrong


def starts_at_the_end(label: str, client: Any) -> Any:
    return evolve(client, position=1) if label.endswith("reset") else client


def takes_unstable(label: str, client: Any) -> Any:
    return evolve(client, position=0) if label.endswith("unstable") else client


def goes_on(label: str, client: Any) -> Any:
    return evolve(client, failed=NONE) if label.endswith("stopped") else client


@pytest.mark.parametrize(
    ("change", "reset", "given", "what"),
    [
        (starts_at_the_end, "earliest", NOTHING, "position"),
        (takes_unstable, "earliest", UNSTABLE, "position"),
        (goes_on, "none", NOTHING, "exceptions"),
    ],
)
def test_a_wrong_start_differs(
    change: Callable[[str, Any], Any],
    reset: str,
    given: Input,
    what: str,
    coordinator: Driver,
) -> None:
    rows = told(change)(rows_with(reset))
    (row,) = fetches(rows, given)
    (seen,) = coordinator.run_all([row.probe])
    assert what in [one.partition(":")[0] for one in different(rows, row, seen)]


@pytest.mark.parametrize("reset", ["earliest", "latest", "none"])
def test_the_steps_of_the_group_s_model_are_those_of_the_rows(reset: str) -> None:
    steps = FullOffsetSteps(rows_with(reset))
    assert steps.run(3) == []
    assert steps.states > 100


def test_a_step_that_leads_elsewhere_is_a_misfit() -> None:
    rows = rows_with("earliest")
    found = FullOffsetSteps(rows, None).run(0)
    assert found == []
    wrong = FullOffsetSteps(told(takes_unstable)(rows))
    wrong._counterparts = FullOffsetSteps(rows)._counterparts
    assert any("position: 0" in one.what for one in wrong.run(1))


def test_the_producer_s_commits_have_no_rows(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "conform offsets --side member --set commits=transactions"
    assert cli.run(asked.split()) == 2
    assert "are the producer's" in capsys.readouterr().err


def test_a_setting_leaves_one_kind_of_member() -> None:
    every = rows_of("offsets", 1, None, {"autocommit": "no"})
    assert [rows.kind for rows in every] == ["reset earliest", "reset latest", "reset none"]
    assert rows_with("none").kind == ""
    assert attrs.asdict(rows_with("none").scope)["reset"] == "none"
    assert rows_with("none").start() == Memory()
