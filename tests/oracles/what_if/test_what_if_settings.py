"""`replay --what-if`: what a log states, what is estimated or assumed, and what that leaves open.
Logs are those of real groups.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from groupcheck.model.engine import UserError
from groupcheck.oracles.command_line import cli
from groupcheck.oracles.replay.report import replay
from groupcheck.oracles.replay.what_if.answer import WhatIf, what_if
from groupcheck.oracles.replay.what_if.caveats import UNKNOWN_PAUSE, UNKNOWN_SESSION
from groupcheck.oracles.replay.what_if.change import changes
from groupcheck.oracles.replay.what_if.document import sentences
from groupcheck.oracles.replay.what_if.settings import is_cooperative, settings_of
from groupcheck.traces.findings.report import GroupReport
from groupcheck.traces.story.events import RebalanceCause

DATA = Path(__file__).parents[2] / "data"


def asked(report: GroupReport, *change: str, **more: Any) -> WhatIf:
    return what_if(report, "server.log", changes(change), replications=4, **more)


def happens(found: WhatIf) -> list[bool]:
    return [row.avoided <= 0.5 for row in found.rows]


@pytest.mark.parametrize("name", ["zombie", "coop_join_kill", "static_bounce"])
def test_a_broker_states_no_session_and_its_bound_is_an_estimate(name: str) -> None:
    """Recorded with sessions of 3 s and 4 s."""
    (file,) = replay([DATA / f"replay/live-{name}.log"])
    found = settings_of(file.groups[0])
    assert found.told == {}
    assert found.estimated["session_timeout_ms"].value_ms > 3_000
    assert "it is at most so long" in found.estimated["session_timeout_ms"].source
    asked_of = asked(file.groups[0], "dynamic")
    assert {"session_timeout_ms", "initial_rebalance_delay_ms"} <= set(asked_of.assumed)
    given = asked(file.groups[0], "dynamic", given={"session_timeout_ms": "3000"})
    assert "session_timeout_ms" not in given.assumed


def test_lines_with_timeouts_state_the_session() -> None:
    (file,) = replay([DATA / "replay/kraft-group-35-rebalances.log.gz"])
    found = settings_of(file.groups[0])
    assert found.told == {"session_timeout_ms": 45_000, "max_poll_interval_ms": 300_000}


@pytest.mark.parametrize(("by_itself", "known"), [(4, False), (0, True)])
def test_rebalances_that_members_begin_by_themselves_tell_no_heartbeat_interval(
    by_itself: int, known: bool
) -> None:
    """The estimate needs three join phases of members that heard of them by a heartbeat."""
    (file,) = replay([DATA / "replay/live-static_bounce.log"])
    (group,) = file.groups
    for r in [r for r in group.timeline.rounds if not r.initial][:by_itself]:
        r.cause = RebalanceCause.LEADER_REJOIN
    assert ("heartbeat_interval_ms" in settings_of(group).estimated) is known


def test_a_session_that_is_not_known_leaves_open_what_a_longer_one_would_have_spanned(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Its bound is 11.5 s, so the static member was away for 2 s to 14 s."""
    log = DATA / "replay/live-static_bounce.log"
    (file,) = replay([log])
    (group,) = file.groups
    found = asked(group, "session.timeout.ms=8000")
    assert [row.doubt for row in found.rows] == ["", "", UNKNOWN_SESSION, UNKNOWN_SESSION]
    assert found.reproduced == 4 and found.verdict == "unknown" and found.avoided == []
    # Of these values each gives the same answer, however long the session was.
    assert happens(asked(group, "session.timeout.ms=20000")) == [True, True, False, False]
    assert not asked(group, "session.timeout.ms=2000").doubts
    assert not asked(group, "dynamic").doubts
    change = ["--what-if", "session.timeout.ms=8000", "--replications", "2"]
    assert cli.run(["replay", str(log), *change]) == 3
    told = capsys.readouterr().out
    assert "Unknown: 2 rebalances cannot be judged" in told and "not judged" in told


def test_a_broker_does_not_tell_a_paused_process_from_one_that_was_restarted() -> None:
    """The request log of the same group does."""
    (file,) = replay([DATA / "replay/live-zombie.log"])
    told = {"heartbeat_interval_ms": "500", "session_timeout_ms": "3000"}
    found = asked(file.groups[0], "session.timeout.ms=10000", given=told)
    assert found.trusted and found.doubts == {UNKNOWN_PAUSE: 1}
    # Read as a restart, the old id expires while the round of the new one waits for it.
    assert found.rows[3].doubt and found.rows[2].merges and not found.avoided


def test_the_protocol_is_assumed_where_no_line_tells_it() -> None:
    (file,) = replay([DATA / "replay/live-coop_join_kill.log"])
    (group,) = file.groups
    found = asked(group, "cooperative")
    assert is_cooperative(group) is None and "protocol" in found.assumed
    assert (found.baseline[0], found.changed[0]) == ("classic", "cooperative")
    assert "protocol=eager" in " ".join(sentences(found))
    found = asked(group, "cooperative", given={"protocol": "cooperative"})
    assert (found.baseline[0], found.changed[0]) == ("cooperative", "cooperative")
    assert "protocol" not in found.assumed
    with pytest.raises(UserError, match="no protocol 'coop'"):
        asked(group, "cooperative", given={"protocol": "coop"})


def test_lists_of_assignors_and_requests_tell_the_protocol(tmp_path: Path) -> None:
    """A Java client that also supports `range` rebalances eagerly."""
    kraft = DATA / "replay/kraft-group-35-rebalances.log.gz"
    (file,) = replay([kraft])
    assert is_cooperative(file.groups[0]) is False
    log = tmp_path / "server.log"
    text = gzip.decompress(kraft.read_bytes()).decode()
    log.write_text(text.replace("List(range, cooperative-sticky)", "List(cooperative-sticky)"))
    (file,) = replay([log])
    assert is_cooperative(file.groups[0]) is True
    log.write_text(text.replace("List(range, cooperative-sticky)", "List(ours)"))
    (file,) = replay([log])
    assert is_cooperative(file.groups[0]) is None
    for name, cooperative in (("coop_join_kill", True), ("zombie", False)):
        (file,) = replay([DATA / f"requests/live-{name}.log.gz"])
        assert is_cooperative(file.groups[0]) is cooperative
