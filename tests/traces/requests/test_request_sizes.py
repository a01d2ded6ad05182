"""Large groups: what is carried stays small, and what is too large is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from printed import printed_requests

from groupcheck.model.protocol.classic.scope import Scope
from groupcheck.traces.replay import replay_file
from groupcheck.traces.requests import follow_requests as request_follow

TWELVE = Scope(members=12, generations=60, records=1, partitions=12, faults={"close": 3})


def test_twelve_members_are_followed_in_few_worlds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = []
    judge = request_follow.RequestFollower._judge

    def counted(self: request_follow.RequestFollower, e: request_follow.JudgedAssignment) -> None:
        judge(self, e)
        most.append(len(self.worlds))

    monkeypatch.setattr(request_follow.RequestFollower, "_judge", counted)
    file = tmp_path / "requests.log"
    file.write_text("".join(line + "\n" for line in printed_requests(2, TWELVE, 200)))
    report = replay_file(str(file))
    assert report.verdict == "holds" and report.groups[0].timeline.largest == 12
    assert max(most) <= 40


def test_a_group_with_too_many_ids_is_unknown_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_follow, "SIZES", (4, 8))
    file = tmp_path / "requests.log"
    file.write_text("".join(line + "\n" for line in printed_requests(2, TWELVE, 200)))
    report = replay_file(str(file))
    assert (report.verdict, report.groups[0].unexplained_count) == ("unknown", 0)
    assert "member ids are known at a time" in report.reason
