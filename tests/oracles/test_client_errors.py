"""The table of what Kafka's client does with each error: no cell is missing, and each is one that
`conform classic --side member` executes on Kafka's own client.
"""

from __future__ import annotations

from typing import Any

import pytest

from groupcheck.oracles.command_line.listing import listing
from groupcheck.oracles.conform.member.every_row import rows_of
from groupcheck.oracles.conform.member.member_memory import CODES as EXECUTED
from groupcheck.oracles.conform.member.shown import input_shown
from groupcheck.oracles.explain.client_errors import CODES, LOOKS, LOST, by_request, cells

REQUESTS = ("JoinGroup", "SyncGroup", "Heartbeat", "OffsetCommit", "LeaveGroup")
NOBODYS = 84  # a code that stands in no protocol of groups: executed as -1 is


@pytest.fixture(scope="module")
def executed() -> dict[tuple[str, int], dict[str, Any]]:
    """(request, code) -> how conform names the rows, their rules, and whether the member looks for
    its coordinator afterwards.
    """
    rows = rows_of("classic", 1, None, {})[0]
    known, todo, out = {rows.start()}, [rows.start()], {}
    while todo:
        m = todo.pop()
        for given in rows.inputs(m):
            for outcome in rows.outcomes(m, given):
                after = outcome.after
                if after is not None and after not in known:
                    known.add(after)
                    todo.append(after)
                if given.does is None and after is not None:
                    key = type(m.flight[0].request).__name__, given.code
                    one = out.setdefault(key, {"rules": set(), "names": set(), "lost": set()})
                    one["rules"].add(outcome.rules[0])
                    one["names"].add(input_shown(m, given))
                    if m.known:
                        one["lost"].add(not after.known)
    return out


def test_every_request_has_every_code() -> None:
    found = {(cell.request, cell.code) for cell in cells()}
    assert found == {(request, code) for request in REQUESTS for code in (0, *CODES)}
    assert {*EXECUTED} - {*CODES} == {NOBODYS}


def test_each_cell_is_what_the_rows_execute_on_kafkas_client(executed: Any) -> None:
    told: dict[tuple[str, int], set[str]] = {}
    for cell in cells():
        told.setdefault((cell.request, cell.code), set()).add(cell.rule)
        assert any(name.startswith(cell.row) for name in executed[cell.request, cell.code]["names"])
    assert told == {key: one["rules"] for key, one in executed.items() if key[1] != NOBODYS}
    unexpected = {key[0]: one["rules"] for key, one in executed.items() if key[1] == NOBODYS}
    assert unexpected == {request: told[request, -1] for request in REQUESTS}


def test_a_lost_coordinator_is_said_where_the_rows_lose_it(executed: Any) -> None:
    for cell in cells():
        assert (LOOKS in cell.does) == (True in executed[cell.request, cell.code]["lost"])
    assert {cell.code for cell in cells() if LOOKS in cell.does} == {*LOST}


def test_where_a_code_has_two_effects_each_has_its_situation() -> None:
    several: dict[str, list[str]] = {}
    for cell in cells():
        several.setdefault(cell.name, []).append(cell.when)
    assert all(
        whens == [""] or (len({*whens}) == len(whens) and "" not in whens)
        for whens in several.values()
    )
    assert len(several) < sum(map(len, several.values()))


def test_the_page_and_the_list_tell_all_of_them() -> None:
    rows = listing("errors")
    assert [row["doc"] for row in rows] == [cell.does for cell in cells()]
    codes = [code for request in by_request().values() for told, _ in request
             for code in told.split(", ")]  # fmt: skip
    assert len(codes) == len(REQUESTS) * (1 + len(CODES))
    (refused,) = [told for codes, told in by_request()["Heartbeat"] if "25 UNKNOWN" in codes]
    assert "forgets its id and its generation" in refused
