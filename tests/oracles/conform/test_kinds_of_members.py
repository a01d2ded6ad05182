"""Each kind of member of a variant on Kafka's Java client: static and dynamic ones, twins, those
before and after a bounce.
"""

from __future__ import annotations

import pytest

from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.group_steps import GroupSteps
from groupcheck.oracles.conform.member.member_memory import Does, Input
from groupcheck.oracles.conform.member.moves import Standing, setup_of
from groupcheck.oracles.conform.member.rows import Rows
from groupcheck.oracles.conform.member.tour import MemberRow, Tour, different
from groupcheck.oracles.kafka.client_commands import Reset
from groupcheck.oracles.kafka.driver import Driver

# Variant -> its kinds of members, each with its first assignor, whether it has an instance id, and
# whether it is cooperative.
KINDS = {
    "mixed_membership": {
        "static members 1": ("range", True, False),
        "static members 0": ("range", False, False),
    },
    "cooperative_mixed": {
        "static members 1": ("cooperative-sticky", True, True),
        "static members 0": ("cooperative-sticky", False, True),
    },
    "callbacks": {"": ("range", False, False)},
    "cooperative_callbacks": {"": ("cooperative-sticky", False, True)},
    "twins": {"": ("range", True, False)},
    "offsets": {
        "reset earliest": ("range", False, False),
        "reset latest": ("range", False, False),
        "reset none": ("range", False, False),
    },
    "cooperative_rounds": {"": ("cooperative-sticky", False, True)},
    "upgrade": {
        "protocols range": ("range", False, False),
        "protocols cooperative-sticky,range": ("cooperative-sticky", False, False),
        "protocols cooperative-sticky": ("cooperative-sticky", False, True),
    },
}
EACH = [(variant, kind) for variant, kinds in KINDS.items() for kind in kinds]
FIRST = 500  # rows


def of_kind(variant: str, kind: str) -> Rows:
    small = {"autocommit": "no", "partitions": "1"}
    (rows,) = (rows for rows in rows_of(variant, 1, None, small) if rows.kind == kind)
    return rows


@pytest.mark.parametrize("variant", KINDS)
def test_every_kind_of_member_has_rows(variant: str) -> None:
    found = {rows.kind: rows for rows in rows_of(variant, 1, None, {"autocommit": "no"})}
    assert {*found} == {*KINDS[variant]}
    for kind, (assignor, static, cooperative) in KINDS[variant].items():
        client = setup_of(found[kind].scope)
        assert (client.assignors[0], client.instance is not None) == (assignor, static)
        assert found[kind].scope.cooperative == cooperative


@pytest.mark.parametrize(("variant", "kind"), EACH)
def test_the_nearest_rows_of_each_kind_agree(variant: str, kind: str, coordinator: Driver) -> None:
    tour = Tour(of_kind(variant, kind), coordinator, max_rows=FIRST)
    tour.run()
    assert [d.what for d in tour.differences] == []
    assert tour.counts.agreeing == tour.counts.executed > FIRST / 4
    assert tour.reason == f"there are more than {FIRST} rows"


# It joins, installs its share, is told to join again, and polls; or it does not poll in time.
JOINS = (
    Input(Does.POLL),
    Input(code=79, id=0),
    Input(Does.POLL),
    Input(id=0, generation=1),
    Input(Does.SEND),
    Input(share=1),
    Input(Does.POLL),
)
AGAIN = (*JOINS, Input(Does.BEAT), Input(code=27), Input(Does.POLL))
TOO_LATE = (*JOINS, Input(Does.NO_POLL))


def last_row(rows: Rows, client: Reset, inputs: tuple[Input, ...]) -> MemberRow:
    """The row of the last input, of a client that is configured so."""
    memory, standing = rows.start(), Standing(client)
    for given in inputs:
        assert memory is not None
        (outcome,) = rows.outcomes(memory, given)
        row = MemberRow(memory, given, outcome, standing)
        memory, standing = outcome.after, standing.then(row.probe.row)
    return row


@pytest.mark.parametrize(
    ("variant", "kind", "other", "inputs"),
    [
        ("mixed_membership", "static members 0", "static members 1", TOO_LATE),
        ("mixed_membership", "static members 1", "static members 0", TOO_LATE),
        ("upgrade", "protocols cooperative-sticky", "protocols range", AGAIN),
        ("upgrade", "protocols cooperative-sticky,range", "protocols cooperative-sticky", AGAIN),
    ],
)
def test_rules_of_another_kind_differ(
    variant: str, kind: str, other: str, inputs: tuple[Input, ...], coordinator: Driver
) -> None:
    right, wrong = of_kind(variant, kind), of_kind(variant, other)
    client = setup_of(right.scope)
    for rows in (right, wrong):
        row = last_row(rows, client, inputs)
        (seen,) = coordinator.run_all([row.probe])
        what = [one.partition(":")[0] for one in different(rows, row, seen)]
        assert bool(what) == (rows is wrong), what
        if rows is wrong:
            assert {*what} & {"sends", "owns"}


@pytest.mark.parametrize(
    ("variant", "kind"),
    [
        ("upgrade", "protocols cooperative-sticky,range"),
        ("mixed_membership", "static members 0"),
        ("cooperative_rounds", ""),
    ],
)
def test_the_steps_of_the_groups_model_fit_the_rows(variant: str, kind: str) -> None:
    steps = GroupSteps(of_kind(variant, kind))
    assert [m.what for m in steps.run(1)] == []
    assert steps.steps > 1000
