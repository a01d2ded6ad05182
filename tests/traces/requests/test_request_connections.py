"""A request log that may lack a connection proves nothing that an administrator over it may have
caused; one that has all connections does.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from printed import printed_requests
from static_log import StaticLog, beat, formed
from test_request_static_models import BUSY, COOPERATIVE, STEPS, replayed

from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.traces.requests.every_connection import LoggedConnections, connections_of

REMOVED = "over which an administrator may have removed a static member"


def numbered(log: StaticLog, gap: int = 0) -> StaticLog:
    """The same log with the names of a real broker's connections, in the order in which they are
    seen. `gap`: so many numbers are skipped before the last one.
    """
    names = list(dict.fromkeys(re.findall('"connection": "([^"]*)"', "".join(log.lines))))
    last = len(names) - 1
    told = {
        name: f"127.0.0.1:9092-127.0.0.1:{50_000 + k}-0-{7 + k + gap * (k == last)}"
        for k, name in enumerate(names)
    }
    log.lines = [
        re.sub('"connection": "([^"]*)"', lambda found: f'"connection":"{told[found[1]]}"', line)
        for line in log.lines
    ]
    return log


def unknown_id(log: StaticLog) -> StaticLog:
    """The static member b is answered 25, and nobody has removed it; then d2 comes."""
    formed(log)
    log.heartbeat(1000, "b1", 1, 25)
    beat(log, 1500, 1, "a1", "d1")
    log.join(2000, "d2", -1, code=79)
    return log


def test_a_log_with_all_connections_shows_that_nobody_has_removed_the_member(
    tmp_path: Path,
) -> None:
    line, why = numbered(unknown_id(StaticLog(tmp_path))).wrong()
    assert line == 8 and "could only be 0 NONE" in why


def test_a_number_that_is_skipped_may_be_an_administrators_connection(tmp_path: Path) -> None:
    group = numbered(unknown_id(StaticLog(tmp_path)), gap=1).replayed()
    skipped = "no line shows connection 10 of network thread 0"
    assert group.verdict == "unknown"
    assert group.reason == f"lines are missing near line 8: {skipped}, {REMOVED}"
    assert [a.kind for a in group.anomalies if a.line == 8] == ["gap"]


def test_without_a_later_connection_the_last_one_may_be_missing(tmp_path: Path) -> None:
    log = numbered(unknown_id(StaticLog(tmp_path)))
    del log.lines[-1]
    group = log.replayed()
    assert group.verdict == "unknown"
    assert "it shows none after the latest one of network thread 0" in group.reason


def test_nobody_is_accepted_because_a_member_was_removed(tmp_path: Path) -> None:
    """The id b1 was replaced by b2, and must be fenced."""
    log = StaticLog(tmp_path)
    formed(log)
    log.join(1000, "b2", 1, leader="a1", took=3)
    log.sync(1010, "b2", 1, "B")
    log.heartbeat(1300, "b1", 1, 0)
    beat(log, 1500, 1, "a1", "b2", "d1")
    beat(log, 2000, 1, "a1", "b2", "d1")
    line, why = numbered(log, gap=3).wrong()
    assert line == 10 and "replaced_id_fenced" in why


# Runs of the model, with the connection over which an administrator has removed a member: the
# first answer that does not fit is 25, or tells of a round without that member.
RUNS = (
    (BUSY, 5, 3),
    (BUSY, 8, 4),
    (BUSY, 16, 3),
    (COOPERATIVE, 1, 4),
)


@pytest.mark.parametrize(("scope", "seed", "removed"), RUNS)
def test_a_run_without_the_connection_of_an_administrator_is_not_called_wrong(
    scope: Scope, seed: int, removed: int, tmp_path: Path
) -> None:
    lines = printed_requests(seed, scope, STEPS)
    kept = [line for line in lines if f'-0-{removed}"' not in line]
    assert len(kept) < len(lines)
    group = replayed(kept, tmp_path)
    assert group.verdict == "unknown" and group.reason.endswith(REMOVED), group.reason


# -- names


def of_names(*names: str) -> LoggedConnections:
    time = "[2024-10-25 17:00:0{},000] DEBUG Completed request:"
    return connections_of(
        (k, f'{time.format(k)}{{"connection":"{name}","totalTimeMs":500.0}}')
        for k, name in enumerate(names)
    )


def test_a_connection_is_made_before_its_first_request_has_come() -> None:
    found = of_names("h:1-h:2-1-4", "h:1-h:3-1-5", "h:1-h:2-1-4")
    assert {k: sorted(first) for k, first in found.first.items()} == {1: [4, 5]}
    since = found.first[1][5]
    assert found.first[1][4] == since - 1000
    assert found.may_lack(since - 1) == ""
    assert "none after the latest one of network thread 1" in found.may_lack(since)


def test_each_network_thread_counts_for_itself() -> None:
    found = of_names("h:1-h:2-0-4", "h:1-h:3-1-8", "h:1-h:4-0-5", "h:1-h:5-1-9")
    assert found.may_lack(found.first[0][4]) == ""
    missing = of_names("h:1-h:2-0-4", "h:1-h:3-1-8", "h:1-h:4-0-6", "h:1-h:5-1-9")
    assert missing.may_lack(0) == "no line shows connection 5 of network thread 0"


def test_names_before_4_0_leave_out_the_thread_and_other_names_say_nothing() -> None:
    assert "do not tell" in of_names("[::1]:9092-[::1]:50000-4").may_lack(0)
    assert of_names("client-1", "10.0.0.1:5 to 10.0.0.2:6").may_lack(0) == ""
