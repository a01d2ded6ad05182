"""What an output shows, and what it does not: looks at a group that are pasted without heads, rows
that end early, numbers that are unknown.
"""

from __future__ import annotations

from groupcheck.traces.clients.statement import Statement
from groupcheck.traces.group_tables.outputs import Outputs
from groupcheck.traces.group_tables.table_log import Watching

IDS = tuple(f"c-{n}f1c0a4e-6a4b-4a6e-9d39-8a3b7a1b2c3d" for n in range(3))
ROWS = f"g {IDS[0]}  /10.0.0.1 c 2 t(0,1)\ng {IDS[1]}  /10.0.0.2 c 0"
HEAD = "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT"
WARNING = "Warning: Consumer group 'g' is rebalancing."


def said(text: str, kind: str) -> list[Statement]:
    found = Watching().read(Outputs(), enumerate(text.split("\n"), 1))
    return [s for s in found if s.kind == kind]


def test_a_member_without_partitions_is_a_member() -> None:
    """Its row may end before the column of its assignment."""
    for text in (f"{HEAD}\n{ROWS}", ROWS):  # people cut off the head, too
        (told,) = said(text, "described")
        assert [told.fields[k] for k in ("members", "shares", "idle")] == [2, 2, 1]
        assert [s.fields["partitions"] for s in said(text, "owns")] == ["t-0, t-1", ""]


def test_who_is_gone_between_two_outputs_is_told() -> None:
    one, two = ROWS.split("\n")
    first, second = said(f"10:42:11\n{HEAD}\n{one}\n{two}\n10:42:14\n{HEAD}\n{two}", "described")
    assert (first.fields.get("gone"), second.fields["gone"]) == (None, IDS[0])
    _, again = said(f"10:42:11\n{HEAD}\n{two}\n10:42:14\n{HEAD}\n{one}\n{two}", "described")
    assert (again.fields["come"], again.fields.get("gone")) == (IDS[0], None)


def test_looks_at_a_calm_group_count_beside_those_at_a_rebalance() -> None:
    looks = [ROWS, WARNING, WARNING]
    during = "\n---\n".join(f"10:42:1{n}\n{look}" for n, look in enumerate(looks))
    (seen,) = said(during, "round_lasts")
    assert seen.fields["seen"] == "in 2 of 3 outputs"
    assert said(f"{during}\n---\n10:42:14\n{ROWS}", "round_lasts") == []
    (whole,) = said(f"10:42:11\n{WARNING}\n---\n10:42:12\n{WARNING}", "round_lasts")
    assert whole.fields["seen"] == "whenever it is looked at (outputs: 2)"
    (once,) = said(f"10:42:11\n{WARNING}", "round_lasts")
    assert "often" not in once.fields  # nothing lasts at one moment


def test_a_lag_that_is_unknown_is_not_zero() -> None:
    head = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG OWNER"
    aside = "Could not fetch offset from zookeeper for group g partition [t,0] due to missing data."
    (told,) = said(f"{head}\n{aside}\ng t 0 unknown 465 unknown g_host-1", "described")
    assert (told.fields.get("lag"), told.fields["unknown"], told.fields["members"]) == (None, 1, 1)
    (some,) = said(f"{head}\ng t 0 unknown 465 unknown x\n{aside}\ng t 1 5 8 3 x", "described")
    assert (some.fields["lag"], some.fields["unknown"]) == (3, 1)
    (none,) = said(f"{head}\ng t 0 - 0 - x\ng t 1 8 8 0 x", "described")
    assert none.fields["lag"] == 0 and "unknown" not in none.fields


def test_what_has_to_move_comes_out_of_current_and_target_assignments() -> None:
    state = "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE GROUP-EPOCH TARGET-ASSIGNMENT-EPOCH"
    members = (
        "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS CURRENT-EPOCH CURRENT-ASSIGNMENT"
        " TARGET-EPOCH TARGET-ASSIGNMENT"
    )
    text = (
        f"{state} #MEMBERS\ng b:9092 (2) uniform Reconciling 12 11 2\n\n{members}\n"
        "g a1 /10.0.0.1 a 3 11 t:0,1,2 12 t:0,1\ng b1 /10.0.0.2 b 0 12 - 12 t:2,3\n"
    )
    (of_state, of_members) = said(text, "described")
    assert of_state.fields["epoch"] == 12 and of_state.fields["target"] == 11
    assert of_members.fields["moves"] == "t-2 from a to b; t-3 from nobody to b"
    # The members' table behind it does not end what the table of states shows.
    assert [s.fields["state"] for s in said(text, "round_lasts")] == ["Reconciling"]
