"""Two tables are two moments only if their times differ, or if the same group is shown again in the
same columns: two groups, or two parts of one output, are compared with nothing.
"""

from __future__ import annotations

import pytest

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.facts.steps import steps_told
from groupcheck.traces.group_tables.outputs import Outputs
from groupcheck.traces.group_tables.table_log import Watching

OFFSETS = "TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG MEMBER-ID CLIENT-ID HOST"
OWN, FOREIGN = (f"{c}-11111111-1111-1111-1111-111111111111" for c in "ab")
FIRST = f"{OFFSETS}\nt 0 100 106 6 {OWN} a 10.0.0.1\nt 1 100 106 6 {OWN} a 10.0.0.1\n"
# Fewer records, another member of the same client.
SECOND = f"{OFFSETS}\nt 0 50 53 3 {FOREIGN} a 10.0.0.1\nt 1 50 53 3 {FOREIGN} a 10.0.0.1\n"
BETWEEN_OUTPUTS = {
    "log_end_went_back", "committed_offset_went_back", "offsets_set_back", "member_replaced",
    "stands_still", "lag_rests", "lag_grows", "progress",
}  # fmt: skip


def summary(group: str, state: str = "Stable", members: int = 1) -> str:
    """What rpk prints before the table of a group."""
    return (
        f"GROUP        {group}\nCOORDINATOR  1\nSTATE        {state}\nBALANCER     range\n"
        f"MEMBERS      {members}\nTOTAL-LAG    12\n\n"
    )


def said(text: str) -> list[Statement]:
    return Watching().read(Outputs(), enumerate(text.splitlines(), 1))


def test_two_owners_of_a_partition_are_those_of_two_moments() -> None:
    (told,) = steps_told(said(FIRST + "\n" + SECOND), True)
    assert f"{OWN} in one output, {FOREIGN} in another owns t-0" in told.text
    assert "each of 2 members" not in told.text
    (told,) = steps_told(said(FIRST), True)
    assert f"{OWN} owns t-0" in told.text


def compared(text: str) -> set[str]:
    return {s.kind for s in said(text)} & BETWEEN_OUTPUTS


@pytest.mark.parametrize(
    "text",
    [
        FIRST + "\n" + SECOND,
        summary("one") + FIRST + "\n" + summary("two") + SECOND,
        FIRST.replace("TOPIC", "GROUP TOPIC").replace("\nt ", "\none t ")
        + SECOND.replace("\nt ", "\nu ")
        .replace("TOPIC", "GROUP TOPIC")
        .replace("\nu ", "\none u "),
    ],
    ids=["no group is named", "two groups of rpk", "two topics of one group"],
)
def test_tables_of_one_paste_are_not_compared(text: str) -> None:
    assert compared(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        f"10:00:00\n{FIRST}\n10:01:00\n{SECOND}",
        summary("one") + FIRST + "\n" + summary("one") + SECOND,
    ],
    ids=["two times", "the same group again"],
)
def test_tables_of_two_moments_are_compared(text: str) -> None:
    assert "log_end_went_back" in compared(text)


def test_a_summary_names_the_group_of_the_table_behind_it() -> None:
    some = said(summary("one", members=2) + FIRST + "\n" + summary("two", "Empty", 0))
    assert {s.group for s in some} == {"one", "two"}
    assert {s.kind for s in some if s.group == "two"} == {"described", "state_empty"}
    (owns,) = [s for s in some if s.kind == "owns"]
    assert (owns.group, owns.member) == ("one", OWN)
    assert [s.fields.get("members") for s in some if s.kind == "described"] == [2, 1, 0]


def test_two_tables_of_one_output_are_one_look_at_a_rebalance() -> None:
    offsets = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
    state = "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS"
    text = (
        f"Warning: Consumer group 'one' is rebalancing.\n{offsets}\none t 0 100 106 6 - - -\n\n"
        f"{state}\none b1:9092 (1) range PreparingRebalance 2\n"
    )
    (once,) = [s for s in said(text) if s.kind == "round_lasts"]
    (twice,) = [s for s in said(text + "\n" + text) if s.kind == "round_lasts"]
    assert (once.fields["outputs"], twice.fields["outputs"]) == (1, 2)
