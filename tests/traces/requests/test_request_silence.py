"""A member that was silent for longer than its session, in a request log that begins so late that
only its next JoinGroup tells how long that is.
"""

from __future__ import annotations

from pathlib import Path

from static_log import SESSION_MS, StaticLog

UNKNOWN_MEMBER, ID_REQUIRED = 25, 79


def absences(log: StaticLog, silent_ms: int) -> list[tuple[str, str, int | None]]:
    """d1 is silent, commits in its old generation, and its client joins again."""
    log.commit(1_001 + silent_ms, "d1", 3, UNKNOWN_MEMBER)
    log.join(1_100 + silent_ms, "d2", -1, code=ID_REQUIRED, who="d1")
    found = log.replayed().findings.absences
    return [(a.member, a.kind, a.window.ms and a.window.ms // 1000) for a in found]


def test_a_later_join_tells_that_a_member_was_silent_for_longer_than_its_session(
    tmp_path: Path,
) -> None:
    log = StaticLog(tmp_path)
    log.heartbeat(1_000, "d1", 3)
    assert absences(log, SESSION_MS + 14_000) == [("d1", "frozen", 20)]
    log = StaticLog(tmp_path)
    log.heartbeat(1_000, "d1", 3)
    assert absences(log, SESSION_MS - 1_000) == []


def test_a_member_that_left_was_not_silent(tmp_path: Path) -> None:
    log = StaticLog(tmp_path)
    log.heartbeat(1_000, "d1", 3)
    log.remove(1_500, [("d1", None, 0)])
    assert absences(log, SESSION_MS + 14_000) == []
